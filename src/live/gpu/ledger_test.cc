#include "live/gpu/ledger.h"

#include <gtest/gtest.h>

#include "live/durable_file.h"
#include "live/gpu/intent.h"
#include "live/gpu/quarantine.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

TEST(LedgerTest, PromiseBecomesAnInstanceAndSurvives) {
  const TempDir dir;
  const std::string path = dir.path() + "/ledger.json";
  auto ledger = Ledger::open(path);
  ASSERT_TRUE(ledger);
  ASSERT_TRUE(ledger->promise("GPU-a", "3g.20gb@4"));
  EXPECT_TRUE(Ledger::open(path)->promised("GPU-a", "3g.20gb@4"));
  ASSERT_TRUE(ledger->keep("GPU-a", "3g.20gb@4", "MIG-1"));
  EXPECT_FALSE(Ledger::open(path)->promised("GPU-a", "3g.20gb@4"));
  EXPECT_TRUE(Ledger::open(path)->owns("MIG-1"));
  ASSERT_TRUE(ledger->retain_only({"MIG-2"}));
  EXPECT_TRUE(Ledger::open(path)->owned().empty());
}

TEST(LedgerTest, BrokenFilesAreNamed) {
  for (const char* text : {"", "[]", "{\"owned\":[1],\"promised\":[]}", "{\"owned\":[],\"promised\":[[\"a\"]]}",
                           "{\"owned\":{},\"promised\":[]}"}) {
    const auto ledger = Ledger::parse("ledger.json", text);
    ASSERT_FALSE(ledger) << text;
    EXPECT_NE(ledger.error().what.find("ledger.json"), std::string::npos);
  }
  for (const char* text : {"", "{}", "[{\"gpu\":\"a\"}]", "[1]"})
    EXPECT_FALSE(Quarantine::parse("q.json", text)) << text;
  for (const char* text : {"", "[]", "{\"gpu\":1}", "{\"gpu\":\"a\",\"model\":\"b\",\"from\":\"c\"}"})
    EXPECT_FALSE(parse_intent("i.json", text)) << text;
}

TEST(IntentTest, ReadsWhatItWrites) {
  const TempDir dir;
  const Intent intent{"GPU-a", "a100-40gb", "empty", "3g.20gb@4"};
  ASSERT_TRUE(write_durably(intent_path(dir.path(), intent.gpu), to_json(intent)));
  const auto read = read_intents(dir.path());
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ((*read)[0].to, intent.to);
  ASSERT_TRUE(remove_durably(intent_path(dir.path(), intent.gpu)));
  EXPECT_TRUE(read_intents(dir.path())->empty());
  ASSERT_TRUE(remove_durably(intent_path(dir.path(), intent.gpu))) << "twice is no error";
  EXPECT_FALSE(write_durably(dir.path() + "/nowhere/x", "text"));
}

TEST(QuarantineTest, KeepsNamesAndReasons) {
  const TempDir dir;
  auto quarantine = Quarantine::open(dir.path() + "/quarantine.json");
  ASSERT_TRUE(quarantine);
  ASSERT_TRUE(quarantine->add({"GPU-a", "", "old"}));
  ASSERT_TRUE(quarantine->add({"GPU-a", "", "lost"}));
  ASSERT_TRUE(quarantine->add({"GPU-a", "1g.5gb@6", "stuck"}));
  auto again = Quarantine::open(dir.path() + "/quarantine.json");
  ASSERT_TRUE(again);
  ASSERT_EQ(again->entries().size(), 2u);
  EXPECT_EQ(again->find("GPU-a")->reason, "lost");
  EXPECT_EQ(again->find("GPU-a", "1g.5gb@6")->reason, "stuck");
  EXPECT_EQ(*again->release("GPU-a"), 2);
  EXPECT_TRUE(Quarantine::open(dir.path() + "/quarantine.json")->entries().empty());
}

}  // namespace
}  // namespace smartmig
