#include "eval/calibration.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "model/speed.h"

namespace smartmig {
namespace {

const std::string kHeader = "kind,gpu,profile,seconds,joules,work,task,mem_mib\n";

struct Size {
  const char* profile;
  double speed, watts;
};
const Size kSizes[] = {{"1g.5gb", 0.25, 30}, {"2g.10gb", 0.45, 55}, {"3g.20gb", 0.6, 80}, {"7g.40gb", 1, 190}};

// Runs of a world that is known: 4 s to launch, noise of a few percent.
std::vector<MeasuredRun> known_world(std::uint64_t seed, double noise, bool unequal_work, double launch) {
  Rng rng(seed);
  std::vector<MeasuredRun> runs;
  for (int task = 0; task < 3; ++task)
    for (const Size& size : kSizes)
      for (int i = 0; i < 5; ++i) {
        MeasuredRun run{"mine-train-1", "a100-40gb", size.profile, unequal_work ? "" : std::to_string(task)};
        run.work = unequal_work ? 50.0 * (task + 1) : 1;
        const double units = 50.0 * (task + 1);
        run.seconds = (launch + units / size.speed) * (1 + noise * (2 * rng.uniform() - 1));
        run.joules = size.watts * run.seconds * (1 + noise * (2 * rng.uniform() - 1));
        run.mem_mib = 1000 + task;
        runs.push_back(run);
      }
  return runs;
}

TEST(Calibration, FindsSpeedsAndWattsOfAKnownWorld) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    const auto fit = calibrate(known_world(seed, 0.05, false, 0), "a100-jobs");
    ASSERT_TRUE(fit) << fit.error().what;
    ASSERT_EQ(fit->kinds.size(), 1u);
    const KindFit& kind = fit->kinds[0];
    EXPECT_FALSE(kind.launch_known);
    EXPECT_FALSE(kind.in_table);
    EXPECT_EQ(kind.mem_mib, 1002);
    ASSERT_EQ(kind.profiles.size(), 4u);
    for (std::size_t s = 0; s < 4; ++s) {
      EXPECT_NEAR(kind.profiles[s].speed, kSizes[s].speed, 0.04 * kSizes[s].speed) << s;
      EXPECT_NEAR(kind.profiles[s].watts, kSizes[s].watts, 0.03 * kSizes[s].watts) << s;
    }
    EXPECT_EQ(fit->time_after.runs, 60u);
    EXPECT_LT(fit->time_after.mean, 0.05);
    EXPECT_GT(fit->time_before.mean, 0.1) << "an unknown kind was taken to grow with the root of its slices";
    EXPECT_LT(fit->energy_after.mean, 0.07);
    EXPECT_LT(fit->energy_after.mean, fit->energy_before.mean);
    EXPECT_LE(fit->time_after.mean, fit->time_after.p90);
  }
}

TEST(Calibration, SoftSlicesAreMeasuredAsTheModelsOwn) {
  std::vector<MeasuredRun> runs;
  for (const auto& [profile, seconds] : {std::pair{"1g.8gb", 40.0}, {"1g.18gb", 40.0}, {"7g.141gb", 10.0}})
    for (int i = 0; i < 3; ++i) {
      runs.push_back({"mine-train-1", "h200-141gb-soft", profile, "a"});
      runs.back().work = 1;
      runs.back().seconds = seconds;
      runs.back().joules = 400;
    }
  const auto fit = calibrate(runs, "h200");
  ASSERT_TRUE(fit) << fit.error().what;
  ASSERT_EQ(fit->kinds.size(), 1u);
  EXPECT_EQ(fit->kinds[0].gpu, "h200-141gb");
  ASSERT_EQ(fit->kinds[0].profiles.size(), 2u);
  EXPECT_EQ(fit->kinds[0].profiles[0].profile, "1g.18gb");
  EXPECT_EQ(fit->kinds[0].profiles[0].runs, 6);
  EXPECT_NEAR(fit->kinds[0].profiles[0].speed, 0.25, 0.01);
}

TEST(Calibration, TellsLaunchFromWork) {
  const auto fit = calibrate(known_world(3, 0.01, true, 20), "a100-jobs");
  ASSERT_TRUE(fit) << fit.error().what;
  EXPECT_TRUE(fit->kinds[0].launch_known);
  EXPECT_NEAR(fit->kinds[0].launch_s, 20, 3);
  for (std::size_t s = 0; s < 4; ++s) EXPECT_NEAR(fit->kinds[0].profiles[s].speed, kSizes[s].speed, 0.03) << s;
  EXPECT_LT(fit->time_after.mean, 0.02);
}

// Seven at once on an H200, each charged a seventh of the 32.56 W that the board draws beyond idle as soon as anything
// runs: in the table, which is of jobs alone, each has all of it.
TEST(Calibration, TheBoardsBaseIsChargedOnce) {
  const auto watts_of = [](double share) {
    const auto fit = calibrate({{"a", "h200-141gb", "1g.18gb", "", 10, 500, 1, -1, share}}, "h200");
    EXPECT_TRUE(fit);
    const std::string rows = power_rows(*fit, "h200", "here").value();
    return rows.substr(rows.find("1g.18gb,") + 8, 6);
  };
  EXPECT_EQ(watts_of(1), "138.20");        // idle 88.2 W and 500 J in 10 s
  EXPECT_EQ(watts_of(1.0 / 7), "166.11");  // and 6/7 of the base
}

TEST(Calibration, OddRunsDoNotMatterAndSpeedsNeverFall) {
  auto runs = known_world(9, 0.02, false, 0);
  for (std::size_t i = 0; i < runs.size(); i += 9) runs[i].seconds *= 20;
  const auto fit = calibrate(runs, "a100-jobs");
  ASSERT_TRUE(fit) << fit.error().what;
  for (std::size_t s = 0; s < 4; ++s) EXPECT_NEAR(fit->kinds[0].profiles[s].speed, kSizes[s].speed, 0.05) << s;
  auto falling = known_world(9, 0, false, 0);
  for (MeasuredRun& run : falling)
    if (run.profile == "2g.10gb") run.seconds = 5 * run.seconds;
  const auto monotone = calibrate(falling, "a100-jobs");
  ASSERT_TRUE(monotone);
  for (std::size_t s = 1; s < 4; ++s)
    EXPECT_GE(monotone->kinds[0].profiles[s].speed, monotone->kinds[0].profiles[s - 1].speed) << s;
}

TEST(Calibration, SizesThatShareNoTaskKeepTheTablesRatio) {
  std::vector<MeasuredRun> runs;
  for (int i = 0; i < 3; ++i) {
    runs.push_back({"bert-train-8", "a100-40gb", "3g.20gb", "one", 10, 1000});
    runs.push_back({"bert-train-8", "a100-40gb", "7g.40gb", "two", 10, 1000});
  }
  const auto fit = calibrate(runs, "a100-jobs");
  ASSERT_TRUE(fit) << fit.error().what;
  const auto& table = SpeedTable::builtin();
  EXPECT_TRUE(fit->kinds[0].in_table);
  EXPECT_NEAR(fit->kinds[0].profiles[0].speed,
              *table.throughput("bert-train-8", "a100-40gb", "3g.20gb") /
                  *table.throughput("bert-train-8", "a100-40gb", "7g.40gb"),
              1e-9);
}

TEST(Calibration, RowsGoBackIntoTheTables) {
  const auto fit = calibrate(known_world(1, 0, false, 0), "a100-jobs");
  ASSERT_TRUE(fit) << fit.error().what;
  const auto table = SpeedTable::parse(LineReader::over("rows", speed_rows(*fit, "fitted, here")));
  ASSERT_TRUE(table) << table.error().what;
  EXPECT_NEAR(*table->throughput("mine-train-1", "a100-40gb", "2g.10gb"), 0.45, 1e-5);
  EXPECT_EQ(table->mem_mib("mine-train-1"), 1002);
  const auto watts = power_rows(*fit, "a100-jobs", "here");
  ASSERT_TRUE(watts) << watts.error().what;
  EXPECT_NE(watts->find("a100-jobs,mine-train-1,7g.40gb,230.00,here\n"), std::string::npos) << *watts;
  const auto paper = power_rows(*fit, "auto", "here");
  ASSERT_FALSE(paper);
  EXPECT_NE(paper.error().what.find("does not tell kinds apart"), std::string::npos);
}

TEST(Calibration, KnownKindsKeepTheScaleOfTheTable) {
  std::vector<MeasuredRun> runs;
  for (const Size& size : kSizes)
    if (std::string(size.profile) != "1g.5gb")
      runs.push_back({"bert-train-8", "a100-40gb", size.profile, "t", 10 / size.speed});
  const auto fit = calibrate(runs, "a100-jobs");
  ASSERT_TRUE(fit) << fit.error().what;
  const auto table = SpeedTable::parse(LineReader::over("rows", speed_rows(*fit, "here")));
  ASSERT_TRUE(table);
  const double whole = *SpeedTable::builtin().throughput("bert-train-8", "a100-40gb", "7g.40gb");
  EXPECT_NEAR(*table->throughput("bert-train-8", "a100-40gb", "7g.40gb"), whole, 1e-4 * whole);
  EXPECT_NEAR(*table->throughput("bert-train-8", "a100-40gb", "3g.20gb"), 0.6 * whole, 1e-4 * whole);
  EXPECT_EQ(fit->energy_after.runs, 0u) << "no joules were given";
}

TEST(Calibration, ReadsRunsStrictly) {
  const auto read = [](const std::string& rows) {
    return read_measured_runs(LineReader::over("runs", kHeader + rows));
  };
  const auto good = read("k,a100-40gb,2g.10gb,12.5,100,3,t,700\nk,a100-40gb,7g.40gb,2,,,,\n");
  ASSERT_TRUE(good) << good.error().what;
  EXPECT_EQ(good->at(0).work, 3);
  EXPECT_EQ(good->at(0).mem_mib, 700);
  EXPECT_LT(good->at(1).joules, 0);
  for (const char* bad :
       {"k,a100-40gb,2g.10gb,0,,,,\n", "k,a100-40gb,2g.10gb,1,-1,,,\n", "k,a100-40gb,2g.10gb,1,,0,,\n",
        "k,nogpu,2g.10gb,1,,,,\n", "k,a100-40gb,9g.10gb,1,,,,\n", ",a100-40gb,2g.10gb,1,,,,\n",
        "k,a100-40gb,2g.10gb,nan,,,,\n", "k,a100-40gb,2g.10gb,1,,,,1.5\n"}) {
    const auto failed = read(bad);
    ASSERT_FALSE(failed) << bad;
    EXPECT_NE(failed.error().what.find("line 2"), std::string::npos) << failed.error().what;
  }
  EXPECT_FALSE(read_measured_runs(LineReader::over("runs", "kind,seconds\nk,1\n")));
}

TEST(Calibration, ErrorFigures) {
  const ErrorFigures e = error_figures({0.5, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 1.0});
  EXPECT_NEAR(e.mean, 0.55, 1e-12);
  EXPECT_DOUBLE_EQ(e.p90, 0.9);
  EXPECT_EQ(error_figures({}).runs, 0u);
  EXPECT_DOUBLE_EQ(error_figures({0.25}).p90, 0.25);
}

}  // namespace
}  // namespace smartmig
