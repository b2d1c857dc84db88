#include "eval/experiment.h"

#include <gtest/gtest.h>

#include "eval/partition_search.h"
#include "eval/seeds.h"
#include "eval/sizing.h"
#include "eval/statistics.h"
#include "sim/workload_windows.h"

namespace smartmig {
namespace {

Setting small() {
  return {std::make_shared<Platform>(*Platform::parse("2xa100-40gb")), "paper:5x,hours=8-9", {}, {}, {}};
}

TEST(Experiment, ParallelRunsDoNotDependOnThreads) {
  const std::vector<Contender> contenders = {contender_of("none+edf", {}), contender_of("static[3]+cedf", {})};
  const auto seeds = seeds_from(kFirstReportSeed, 7);
  const auto one = run_paired(small(), contenders, seeds, 1), four = run_paired(small(), contenders, seeds, 4);
  ASSERT_TRUE(one && four);
  for (std::size_t c = 0; c < contenders.size(); ++c)
    for (std::size_t d = 0; d < seeds.size(); ++d) {
      EXPECT_EQ((*one)[c][d].energy_joules, (*four)[c][d].energy_joules);
      EXPECT_EQ((*one)[c][d].mean_tardiness_min, (*four)[c][d].mean_tardiness_min);
    }
  EXPECT_NE((*one)[0][0].energy_joules, (*one)[0][1].energy_joules);
}

TEST(Experiment, ParallelLoopRunsEveryIndexOnce) {
  for (const int threads : {1, 2, 8}) {
    std::vector<int> hits(100);
    run_parallel(hits.size(), threads, [&](std::size_t i) { ++hits[i]; });
    EXPECT_EQ(hits, std::vector<int>(100, 1));
  }
}

TEST(Experiment, ErrorsOfADayAreHandedOut) {
  const auto runs = run_paired(small(), {contender_of("none+nothing", {})}, {1, 2}, 2);
  ASSERT_FALSE(runs);
  EXPECT_NE(runs.error().what.find("nothing"), std::string::npos);
}

TEST(Experiment, OneWeightForPolicyAndFigures) {
  Setting setting = small();  // 2 GPUs, one hour
  const Day day = std::move(make_day(setting, 1).value());
  const Workload& workload = day.jobs->workload();
  EXPECT_DOUBLE_EQ(energy_weight(setting, workload), 2e-7 * 8 / (2 * (1 / 24.0)));
  const auto check = [&](double a) {
    EXPECT_DOUBLE_EQ(per_job_weight(setting, workload), a * double(workload.jobs.size()));
    const Summary s = run_day(setting, contender_of("market", {}), day).value();
    EXPECT_DOUBLE_EQ(s.a, a);
    EXPECT_EQ(s.a_eff, s.a);
    EXPECT_DOUBLE_EQ(s.et_sum, a * s.energy_wmin + s.mean_tardiness_min);
  };
  check(energy_weight(setting, workload));
  setting.a = 3e-6;
  EXPECT_EQ(energy_weight(setting, workload), 3e-6) << "what is given stands";
  check(3e-6);
}

TEST(Experiment, WindowsOfAFileAreDays) {
  Setting setting = small();
  setting.workload = "file";
  Workload workload = std::move(load_workload("paper:1x,days=4,seed=3").value());
  setting.windows = std::make_shared<WorkloadWindows>(
      std::move(WorkloadWindows::cut(std::move(workload), std::chrono::hours(24)).value()));
  const auto runs = run_paired(setting, {contender_of("none+edf", {})}, setting.windows->held_out(), 2);
  ASSERT_TRUE(runs) << runs.error().what;
  ASSERT_EQ((*runs)[0].size(), 2u);
  EXPECT_DOUBLE_EQ((*runs)[0][0].a, 2e-7 * 8 / 2) << "two GPUs, one day";
  EXPECT_EQ((*runs)[0][1].jobs, setting.windows->window(3)->jobs.size());
  EXPECT_EQ(days_in_words(setting, {2, 3}), "2 windows of 1 d (2-3, held out for reports)");
  EXPECT_EQ(days_in_words(setting, {0}), "1 window of 1 d (0, for search and tuning)");
  EXPECT_EQ(days_in_words(setting, {1, 2}), "2 windows of 1 d (1-2)");
  EXPECT_FALSE(run_paired(setting, {contender_of("none+edf", {})}, {7}, 1));
  SearchOptions options;
  options.seeds = setting.windows->training();
  options.max_evaluations = 5;
  const auto found = search_partition(setting, options);
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_EQ(found->layouts.workload, "file, 2 windows of 1 d (0-1, for search and tuning)");
  EXPECT_TRUE(found->layouts.seeds.empty()) << "windows are no seeds";
}

TEST(Experiment, ContenderTakesLayoutsInBrackets) {
  const Contender c = contender_of("static[1,2]+cedf", {});
  EXPECT_EQ(c.policy, "static+cedf");
  EXPECT_EQ(c.options.layouts, "1,2");
  EXPECT_EQ(c.label, "static[1,2]+cedf");
}

TEST(Seeds, ParseAndRefuse) {
  EXPECT_EQ(*parse_seeds("1,5-7"), (std::vector<std::uint64_t>{1, 5, 6, 7}));
  EXPECT_EQ(seeds_in_words({1, 5, 6, 7}), "1,5-7");
  for (const char* bad : {"", "a", "5-3", "-1", "1-999999"}) EXPECT_FALSE(parse_seeds(bad)) << bad;
  EXPECT_TRUE(refuse_training_seeds("p", {1, 2}, {3}));
  EXPECT_FALSE(refuse_training_seeds("p", {1, 2}, {3, 2}));
}

TEST(Statistics, PairedDifferenceByHand) {
  const std::vector<double> x = {1, 2, 3}, base = {2, 2, 5};  // differences -1, 0, -2: mean -1, deviation 1
  const Difference d = paired_difference(x, base);
  EXPECT_DOUBLE_EQ(d.mean, -1);
  EXPECT_NEAR(d.half_width, 4.303 / std::sqrt(3.0), 1e-9);
  EXPECT_NEAR(d.percent, -100.0 / 3, 1e-9);
  EXPECT_NEAR(student_t975(29), 2.0452, 2e-4);
  EXPECT_NEAR(student_t975(11), 2.2010, 1e-3);
}

TEST(Search, FindsTheWholeGpuForOneLinearJobKindAndIsDeterministic) {
  // Linear jobs with tight deadlines, one at a time: only whole GPUs are on time.
  Setting setting{
      std::make_shared<Platform>(*Platform::parse("1xa100-40gb")), "fixed:rate=0.02,jobs=30,mix=linear", {}, 2e-7, {}};
  SearchOptions options;
  options.seeds = {1, 2};
  options.threads = 2;
  const auto found = search_partition(setting, options);
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_EQ(found->layouts.day, std::vector<std::string>{"7g.40gb"});
  EXPECT_EQ(found->layouts.seeds, options.seeds);
  options.threads = 1;
  const auto again = search_partition(setting, options);
  EXPECT_EQ(to_json(found->layouts), to_json(again->layouts));
  EXPECT_LE(found->layouts.et, found->start_et);
}

TEST(Search, ImprovesOnItsStartsAndNeedsSeeds) {
  SearchOptions options;
  EXPECT_FALSE(search_partition(small(), options));
  options.seeds = {1};
  options.twice = true;
  options.max_evaluations = 60;
  const auto found = search_partition(small(), options);
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_LE(found->layouts.et, found->start_et);
  EXPECT_EQ(found->layouts.night.size(), 2u);
}

TEST(Sizing, KneeOfAHandDrawnCurve) {
  std::vector<SizeRow> rows;
  for (const double tardiness : {100.0, 40.0, 5.0, 4.0, 3.0, 2.0})
    rows.push_back({int(rows.size()) + 1, 0, 0, tardiness, 0, 0, 0, 0, 0});
  EXPECT_EQ(knee_of(rows), 3);
  EXPECT_EQ(knee_of({{1, 0, 0, 5, 0, 0, 0, 0, 0}}), 1);
}

TEST(Sizing, MoreGpusForATighterTarget) {
  SizingQuestion question;
  question.workload = "paper:6x,hours=8-10";
  question.model = "a100-40gb";
  question.contender = contender_of("static[3]+edf", {});
  question.seeds = {200000};
  question.max_gpus = 8;
  question.target.tardiness_min = 3;
  const auto loose = find_size(question);
  question.target.tardiness_min = 0.9;
  const auto tight = find_size(question);
  ASSERT_TRUE(loose && tight && loose->needed && tight->needed);
  EXPECT_LT(*loose->needed, *tight->needed);
  question.target.tardiness_min = 0;
  question.max_gpus = 1;
  const auto never = find_size(question);
  ASSERT_TRUE(never);
  EXPECT_FALSE(never->needed);
}

TEST(Sizing, UtilisationAndPriceAnswerToo) {
  SizingQuestion question;
  question.workload = "paper:6x,hours=8-10";
  question.model = "a100-40gb";
  question.contender = contender_of("static[3]+edf", {});
  question.seeds = {200000};
  question.max_gpus = 10;
  question.target.of = SizingTarget::Of::kUtilisation;
  question.target.utilisation = 0.2;
  const auto busy = find_size(question);
  ASSERT_TRUE(busy && busy->needed);
  for (const SizeRow& row : busy->rows)
    if (row.gpus > *busy->needed) {
      EXPECT_LT(row.utilisation, 0.2) << row.gpus;
    }
  EXPECT_GE(busy->rows[std::size_t(*busy->needed) - 1].utilisation, 0.2);

  question.target.of = SizingTarget::Of::kPrice;
  EXPECT_FALSE(find_size(question)) << "no prices";
  const auto cheapest = [&](double gpu_hour) {
    question.prices = SizePrices{gpu_hour, {0.2, 50}};
    const auto answer = find_size(question);
    EXPECT_TRUE(answer && answer->needed);
    return answer && answer->needed ? *answer->needed : 0;
  };
  EXPECT_LT(cheapest(200), cheapest(0.01)) << "dear GPUs are fewer";
}

}  // namespace
}  // namespace smartmig
