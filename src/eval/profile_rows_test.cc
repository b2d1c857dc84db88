#include "eval/profile_rows.h"

#include <gtest/gtest.h>

#include "model/speed.h"

namespace smartmig {
namespace {

ProfileRun run(const char* profile, double s, double joules, double per_s, int peak = -1) {
  return {"a100-40gb", profile, s, joules, peak, per_s, per_s > 0 ? "it/s" : ""};
}

TEST(ProfileRows, TakesMediansOfProgress) {
  const auto results = profile_results({run("1g.5gb", 10, 100, 5, 900), run("1g.5gb", 12, 120, 7, 950),
                                        run("1g.5gb", 11, 110, 6), run("7g.40gb", 2, 400, 30)});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].runs, 3u);
  EXPECT_DOUBLE_EQ(results[0].throughput, 6);
  EXPECT_EQ(results[0].unit, "it/s");
  EXPECT_DOUBLE_EQ(results[0].seconds, 11);
  EXPECT_DOUBLE_EQ(results[0].active_w, 10);
  EXPECT_NEAR(results[0].spread, 2.0 / 6, 1e-12);
  EXPECT_EQ(results[0].peak_mib, 950);
  EXPECT_DOUBLE_EQ(results[1].active_w, 200);
}

TEST(ProfileRows, GoesByWallTimeWhereOneRunShowsNoProgress) {
  const auto results = profile_results({run("1g.5gb", 10, 100, 5), run("7g.40gb", 2, 400, 0)});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_DOUBLE_EQ(results[0].throughput, 0.1);
  EXPECT_DOUBLE_EQ(results[1].throughput, 0.5);
  EXPECT_EQ(results[1].unit, "runs/s");
  EXPECT_TRUE(profile_results({}).empty());
}

TEST(ProfileRows, SpeedRowsReadBack) {
  const auto results = profile_results({run("1g.5gb", 10, 100, 5, 900), run("7g.40gb", 2, 400, 30, 1000)});
  const std::string text = profile_speed_rows("my, kind", results, "measured on \"here\", today");
  const auto table = SpeedTable::parse(LineReader::over("rows", text));
  ASSERT_TRUE(table) << table.error().what;
  EXPECT_EQ(table->throughput("my, kind", "a100-40gb", "7g.40gb"), 30);
  EXPECT_EQ(table->mem_mib("my, kind"), 1000);
  EXPECT_EQ(table->rows()[0].source, "measured on \"here\", today");
}

TEST(ProfileRows, PowerRowsAreTheBoardsWatts) {
  std::string why;
  const auto results = profile_results({run("7g.40gb", 2, 400, 30)});
  EXPECT_EQ(profile_power_rows("k", results, "a100-jobs", "here", why),
            "model,kind,profile,watts,source\na100-jobs,k,7g.40gb,240.00,here\n");
  EXPECT_EQ(profile_power_rows("k", results, "auto", "here", why), "");
  EXPECT_NE(why.find("paper"), std::string::npos) << why;
  why.clear();
  EXPECT_EQ(profile_power_rows("k", profile_results({run("7g.40gb", 2, 0, 30)}), "a100-jobs", "here", why), "");
  EXPECT_NE(why.find("no joules"), std::string::npos) << why;
}

TEST(ProfileRows, MergingReplacesByKeyAndKeepsTheRest) {
  const std::string old = "# ours\nk,g,v\na,1,5\n\"b,c\",1,6\na,2,7\n";
  const auto merged = merged_rows("old", old, "k,g,v\na,1,9\nd,1,1\n", {"k", "g"});
  ASSERT_TRUE(merged) << merged.error().what;
  EXPECT_EQ(*merged, "# ours\nk,g,v\n\"b,c\",1,6\na,2,7\na,1,9\nd,1,1\n");
  EXPECT_EQ(*merged_rows("old", "", "k,g,v\na,1,9\n", {"k"}), "k,g,v\na,1,9\n");
  const auto other = merged_rows("old", "x,y\n1,2\n", "k,g,v\na,1,9\n", {"k"});
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().what.find("old has the columns x,y"), std::string::npos) << other.error().what;
}

}  // namespace
}  // namespace smartmig
