#include "live/emulation/emulated_script.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

TEST(EmulatedScriptTest, ReadsItsOwnWordsAndNoOthers) {
  const auto none = EmulatedScript::of({"PATH=/bin", "SMARTMIG_EMULATED=1"});
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  const auto read =
      EmulatedScript::of({"HOME=/", "SMARTMIG_EMULATED_MEMORY=0:1000,0.5:4000,1:9000",
                          "SMARTMIG_EMULATED_SECONDS=1:900,7:200.5", "SMARTMIG_EMULATED_KIND=bert-train-2"});
  ASSERT_TRUE(read && *read);
  const EmulatedScript& script = **read;
  EXPECT_EQ(script.memory.size(), 3u);
  EXPECT_EQ(script.seconds[0], 900);
  EXPECT_EQ(script.seconds[1], 0);
  EXPECT_EQ(script.seconds[6], 200.5);
  EXPECT_EQ(script.kind, "bert-train-2");
  const auto again = EmulatedScript::of(script.to_environment());
  ASSERT_TRUE(again && *again);
  EXPECT_EQ((*again)->memory, script.memory);
  EXPECT_EQ((*again)->seconds, script.seconds);
  EXPECT_EQ((*again)->kind, script.kind);
}

TEST(EmulatedScriptTest, RefusesWhatMakesNoSense) {
  for (const char* memory :
       {"", "x", "0", "0:", "0:1,0:2", "0.5:1,0.2:2", "-1:5", "0:5,2:5", "0:-5", "0:1e9", "0:nan"}) {
    const auto read = EmulatedScript::of({std::string("SMARTMIG_EMULATED_MEMORY=") + memory});
    ASSERT_FALSE(read) << memory;
    EXPECT_NE(read.error().what.find("SMARTMIG_EMULATED_MEMORY"), std::string::npos) << read.error().what;
  }
  for (const char* times : {"0:5", "9:5", "1.5:5", "1:0", "1:-3", "1:1e12", "a:b", ","})
    EXPECT_FALSE(EmulatedScript::of({std::string("SMARTMIG_EMULATED_SECONDS=") + times})) << times;
}

TEST(EmulatedScriptTest, TellsWhenALimitIsPassed) {
  EmulatedScript script;
  script.memory = {{0, 1000}, {0.5, 4000}, {0.6, 2000}, {1, 9000}};
  EXPECT_EQ(script.mib_at(-1), 1000);
  EXPECT_DOUBLE_EQ(script.mib_at(0.25), 2500);
  EXPECT_DOUBLE_EQ(script.mib_at(0.55), 3000);
  EXPECT_EQ(script.mib_at(2), 9000);
  EXPECT_DOUBLE_EQ(script.first_above(2500, 0).value(), 0.25);
  EXPECT_DOUBLE_EQ(script.first_above(2500, 0.4).value(), 0.4) << "passed already";
  EXPECT_NEAR(script.first_above(5500, 0).value(), 0.8, 1e-12);
  EXPECT_NEAR(script.first_above(3000, 0.6).value(), 0.6 + 0.4 / 7, 1e-12) << "after the fall";
  EXPECT_EQ(script.first_above(500, 0), 0.0);
  EXPECT_FALSE(script.first_above(9000, 0)) << "just fits";
  EXPECT_FALSE(EmulatedScript().first_above(1, 0));
}

}  // namespace
}  // namespace smartmig
