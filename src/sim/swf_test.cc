#include "sim/swf.h"

#include <gtest/gtest.h>

#include "support/paths.h"

namespace smartmig {
namespace {

Result<Workload> read_text(const std::string& text) { return read_swf(LineReader::over("t.swf", text)); }

TEST(Swf, ReadsTheSample) {
  const auto workload = load_workload(source_dir() + "/tests/data/small.swf");
  ASSERT_TRUE(workload) << workload.error().what;
  EXPECT_EQ(workload->names, (std::vector<std::string>{"1", "3", "5"}));
  EXPECT_EQ(workload->jobs[0].work_on(7), std::chrono::seconds(100));
  EXPECT_EQ(workload->jobs[1].submit, std::chrono::seconds(20));
  EXPECT_GE(workload->jobs[1].deadline, std::chrono::seconds(70));
  EXPECT_LE(workload->jobs[1].deadline, std::chrono::seconds(95));
  const std::string rules = fmt::format("{}", fmt::join(workload->rules, "\n"));
  EXPECT_NE(rules.find("5 rows, 3 jobs kept; dropped: 1 with more than one GPU, 0 with none, 1 without "
                       "a usable duration"),
            std::string::npos)
      << rules;
  EXPECT_NE(rules.find("1 lines of partial executions"), std::string::npos) << rules;
}

TEST(Swf, RefusesAndNamesThePlace) {
  const std::string good = "1 0 3 100 1 -1 -1 1 120 -1 1 1 1 -1 1 -1 -1 -1\n";
  ASSERT_TRUE(read_text(good));
  const std::pair<std::string, const char*> cases[] = {
      {"1 0 3 100\n", "t.swf line 1: 4 fields where SWF has 18"},
      {"; c\n\n1 0 3 1x0 1 -1 -1 1 120 -1 1 1 1 -1 1 -1 -1 -1\n", "line 3, field 4 (run time): '1x0'"},
      {"1 nan 3 100 1 -1 -1 1 120 -1 1 1 1 -1 1 -1 -1 -1\n", "field 2 (submit time)"},
      {"1 1e11 3 100 1 -1 -1 1 120 -1 1 1 1 -1 1 -1 -1 -1\n", "field 2 (submit time): 100000000000 is out of range"},
      {"1 0 3 1e11 1 -1 -1 1 120 -1 1 1 1 -1 1 -1 -1 -1\n", "field 4 (run time)"},
      {"1 0 3 100 1 -1 -1 1 120 -1 1 1 1 -1 1 -1 -1 -1 7\n", "more than the 18 fields"},
      {good + good, "line 2: job number 1 is given twice"},
      {"1 0 3 100 8 -1 -1 8 120 -1 1 1 1 -1 1 -1 -1 -1\n", "none of its 1 rows"}};
  for (const auto& [text, words] : cases) {
    const auto workload = read_text(text);
    ASSERT_FALSE(workload) << text;
    EXPECT_NE(workload.error().what.find(words), std::string::npos) << text << workload.error().what;
  }
}

TEST(Swf, UnknownSubmitIsTimeZero) {
  const auto workload = read_text("1 -1 3 100 1 -1 -1 1 120 -1 1 1 1 -1 1 -1 -1 -1\n");
  ASSERT_TRUE(workload) << workload.error().what;
  EXPECT_EQ(workload->jobs[0].submit, Time(0));
}

}  // namespace
}  // namespace smartmig
