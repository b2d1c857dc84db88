#include "report/journal_runs.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

const std::string kHead = "{\"smartmig_journal\":1,\"version\":\"x\"}\n";

Result<std::vector<JournalRun>> runs_of(const std::string& text) {
  return read_journal_runs(LineReader::over("journal", text));
}

TEST(JournalRuns, CutsAtHeadersAndKeepsNotesApart) {
  const auto runs =
      runs_of(kHead + "{\"t\":1}\n{\"at\":5.5,\"note\":\"job_ended\",\"job\":7,\"state\":\"done\",\"joules\":12.5}\n" +
              "{\"t\":2}\n" + kHead + "{\"at\":9,\"note\":\"energy\",\"gpu\":0}\n{\"t\":3}\n");
  ASSERT_TRUE(runs) << runs.error().what;
  ASSERT_EQ(runs->size(), 2u);
  EXPECT_EQ(runs->at(0).text, kHead + "{\"t\":1}\n{\"t\":2}\n");
  EXPECT_EQ(runs->at(0).notes, 1u);
  EXPECT_EQ(runs->at(0).joules, (std::map<std::string, double>{{"7", 12.5}}));
  EXPECT_EQ(runs->at(1).text, kHead + "{\"t\":3}\n");
  EXPECT_EQ(runs->at(1).first_line, 5);
  EXPECT_TRUE(runs->at(1).joules.empty());
}

TEST(JournalRuns, ASimulatorsJournalIsItself) {
  const std::string text = kHead + "{\"t\":1,\"seq\":0}\n";
  const auto runs = runs_of(text);
  ASSERT_TRUE(runs);
  ASSERT_EQ(runs->size(), 1u);
  EXPECT_EQ(runs->at(0).text, text);
}

TEST(JournalRuns, BadNotesAreNamed) {
  for (const char* bad : {"{\"at\":", "{\"at\":5}", "{\"at\":5,\"note\":3}"}) {
    const auto runs = runs_of(kHead + bad + "\n");
    ASSERT_FALSE(runs) << bad;
    EXPECT_NE(runs.error().what.find("journal line 2"), std::string::npos) << runs.error().what;
  }
  EXPECT_FALSE(runs_of(""));
}

}  // namespace
}  // namespace smartmig
