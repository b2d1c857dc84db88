#include "queue/learning/history.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/text.h"

namespace smartmig {
namespace {

constexpr ForecastQuestion kAny{7, {}};

CommandKey key(const std::string& signature) { return {signature, {}}; }
CommandKey typed(std::string_view command) {
  const auto words = split(command, ' ');
  return key_of({words.begin(), words.end()});
}

PastRun ran(double seconds, int slices = 7, int at_day = 0) {
  PastRun run;
  run.ran_s = seconds;
  run.slices = slices;
  run.of = 7;
  run.ended = from_unix_us((1'700'000'000 + std::int64_t(at_day) * 86'400) * 1'000'000);
  return run;
}
PastRun with_peak(PastRun run, int mib) {
  run.peak_mib = mib;
  return run;
}

TEST(History, TimesOfEverySize) {
  History history;
  EXPECT_FALSE(history.forecast(key("x"), kAny).whole_s.has_value());
  history.add(key("x"), with_peak(ran(75), 4000));
  const Forecast one = history.forecast(key("x"), kAny);
  EXPECT_NEAR(*one.whole_s, 75, 2);
  EXPECT_EQ(*one.mem_mib, 6000) << "half as much again after a single run";
  EXPECT_GT(one.sigma, 0.3);
  for (int k = 1; k < 7; ++k) {
    EXPECT_GE(one.sizes[std::size_t(k - 1)].s, one.sizes[std::size_t(k)].s) << "more never takes longer";
    EXPECT_LT(one.sizes[std::size_t(k - 1)].low_s, one.sizes[std::size_t(k - 1)].high_s);
  }
  for (int i = 0; i < 14; ++i) history.add(key("x"), with_peak(ran(75.0 + i % 3), 4000));
  history.add(key("x"), ran(7500));  // one outlier moves neither much
  const Forecast many = history.forecast(key("x"), kAny);
  EXPECT_NEAR(*many.whole_s, 76, 2);
  EXPECT_LT(many.sigma, 0.25);
  EXPECT_EQ(*many.mem_mib, int(4000 * 1.08 + 0.5)) << "the margin shrinks as evidence grows";
  EXPECT_EQ(many.runs, 16);
  EXPECT_EQ(many.sizes[6].runs, 16);
  PastRun failed;
  failed.out_of_memory_mib = 10000;
  history.add(key("x"), failed);
  EXPECT_EQ(*history.forecast(key("x"), kAny).mem_mib, 12500);
  EXPECT_EQ(history.forecast(key("x"), kAny).runs, 16) << "a failure teaches memory only";
}

TEST(History, WhereSoftSlicesOverlapALargerOneIsNoFaster) {
  History apart(CurveSet::builtin(), {true, 1}), half(CurveSet::builtin(), {true, 2}),
      all(CurveSet::builtin(), {true, 7});
  PastRun beside_six = ran(100, 1);
  beside_six.load = 6 / 7.0;
  for (History* history : {&apart, &half, &all}) history->add(key("x"), beside_six);
  const auto gain = [](History& history, std::size_t from, std::size_t to) {
    const Forecast known = history.forecast(key("x"), kAny);
    return known.sizes[from].s / known.sizes[to].s;
  };
  EXPECT_GT(gain(apart, 0, 6), 1.5);
  EXPECT_GT(gain(half, 0, 6), 1.2);
  EXPECT_NEAR(gain(half, 3, 6), 1, 1e-9) << "from 4g on a slice may use all SMs";
  EXPECT_NEAR(gain(all, 0, 6), 1, 1e-9);
  EXPECT_NEAR(all.forecast(key("x"), kAny).sizes[0].s, 100, 2);
  apart.set_sharing({true, 7});
  EXPECT_NEAR(gain(apart, 0, 6), 1, 1e-9);
}

TEST(History, HowNeighboursSlowACommandIsLearned) {
  History history(CurveSet::builtin(), {true, 7});
  const auto runs = [&](const char* name, double alone_s, double log_slowdown) {
    for (const double load : {0.0, 6 / 7.0, 13 / 7.0, 6 / 7.0, 13 / 7.0}) {
      PastRun run = ran(alone_s * std::exp(log_slowdown * load), 1);
      run.load = load;
      history.add(key(name), run);
    }
    return history.forecast(key(name), kAny);
  };
  EXPECT_NEAR(History().forecast(key("x"), kAny).log_slowdown, kUsualSlowdown, 1e-12);
  EXPECT_NEAR(runs("host", 40, 0.05).log_slowdown, 0.05, 0.06);
  EXPECT_NEAR(runs("gpu", 20, 1).log_slowdown, 1, 0.1);
  EXPECT_NEAR(history.forecast(key("gpu"), kAny).sizes[0].s, 20 * std::exp(6 / 7.0), 3);
}

TEST(History, ASecondSizeStays) {
  History history;
  history.add(key("x"), ran(100, 1));
  history.add(key("x"), ran(20, 7));
  for (int i = 0; i < 40; ++i) history.add(key("x"), ran(100 + i % 2, 1));
  const Forecast known = history.forecast(key("x"), kAny);
  EXPECT_EQ(known.sizes[6].runs, 1) << "the only run on the whole GPU is kept";
  EXPECT_NEAR(known.sizes[0].s, 100, 3);
  EXPECT_NEAR(known.sizes[6].s, 20, 3);
  EXPECT_LT(known.sizes[2].sd, 0.2);
}

TEST(History, ACommandThatNeverRanBorrows) {
  History history;
  history.add(key("python3 train.py --model bert --out runs/a"), ran(60, 1));
  history.add(key("python3 other.py --model bert --out runs/b"), ran(6000, 1));
  const Forecast known = history.forecast(key("python3 train.py --model bert --out runs/b"), kAny);
  ASSERT_TRUE(known.whole_s.has_value());
  EXPECT_EQ(known.runs, 0);
  EXPECT_EQ(known.borrowed, 1);
  EXPECT_NEAR(known.sizes[0].s, 60, 6);
  EXPECT_GT(known.sizes[0].high_s, 100) << "which is not certain";
  EXPECT_FALSE(history.forecast(key("julia train.jl"), kAny).whole_s.has_value());
  EXPECT_EQ(history.size(), 2u) << "a question leaves nothing behind";
}

TEST(History, ANeverRunCommandOrdersItselfByTheNumbersOfItsLike) {
  // Steps of one kind say nothing of another kind's: the runs of others, with larger numbers and less time, must not
  // turn the slope round.
  History history;
  history.add(typed("python3 jobs.py job llm5 llm-decode-8 775"), ran(7, 1));
  history.add(typed("python3 jobs.py job mlp4 mlp-small 4097"), ran(10, 1));
  history.add(typed("python3 jobs.py job resnet7 resnet50-train 69"), ran(14, 1));
  history.add(typed("python3 jobs.py job bert6 bert-train-32 87"), ran(16, 1));
  const auto on_1g = [&](const char* command) { return history.forecast(typed(command), kAny).sizes[0].s; };
  EXPECT_GT(on_1g("python3 jobs.py job bert10 bert-train-32 290"), 18);
  EXPECT_GT(on_1g("python3 jobs.py job bert13 bert-train-32 208"), 17);
  EXPECT_LT(on_1g("python3 jobs.py job bert14 bert-train-32 40"), 16);
  EXPECT_GT(on_1g("python3 jobs.py job llm16 llm-decode-8 4570"), 8.5);
  const double other = on_1g("python3 jobs.py job infer8 resnet50-infer-8 1468");
  EXPECT_DOUBLE_EQ(on_1g("python3 jobs.py job infer8 resnet50-infer-8 14"), other) << "its steps mean nothing here";
  EXPECT_GT(other, 7);
  EXPECT_LT(other, 16);
}

TEST(History, ASitesOwnCurves) {
  // Forty commands that no size makes faster: the next one is expected to be like them.
  History site, fresh;
  for (int i = 0; i < 40; ++i) {
    site.add(key("program" + std::to_string(i)), ran(50, 1));
    site.add(key("program" + std::to_string(i)), ran(50, 7));
  }
  site.add(key("new"), ran(50, 1));
  fresh.add(key("new"), ran(50, 1));
  EXPECT_GT(site.forecast(key("new"), kAny).sizes[6].s, 1.2 * fresh.forecast(key("new"), kAny).sizes[6].s);
}

TEST(History, AChangedProgramIsNoticed) {
  History history;
  for (int i = 0; i < 8; ++i) history.add(key("x"), ran(100 + i % 2, 1));
  history.add(key("x"), ran(160, 1));
  EXPECT_EQ(history.changes("x"), 0) << "once is chance";
  const double sure = history.forecast(key("x"), kAny).sizes[0].sd;
  history.add(key("x"), ran(158, 1));
  EXPECT_EQ(history.changes("x"), 1);
  const Forecast after = history.forecast(key("x"), kAny);
  EXPECT_NEAR(after.sizes[0].s, 159, 8);
  EXPECT_GE(after.sizes[0].sd, sure);
  const auto runs = history.last_runs("x");
  EXPECT_TRUE(runs.front().before_change);
  EXPECT_FALSE(runs.back().before_change);
  for (int i = 0; i < 6; ++i) history.add(key("x"), ran(159 + i % 2, 1));
  EXPECT_EQ(history.changes("x"), 1);
}

TEST(History, PredictionsAndWatts) {
  History history;
  history.add(key("x"), ran(100, 1, 0));
  history.add(key("x"), ran(110, 1, 1));
  history.add_joules("x", ran(110, 1, 1).ended, 5500);
  const auto runs = history.last_runs("x");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_LT(runs[0].predicted_s, 0);
  EXPECT_NEAR(runs[1].predicted_s, 100, 2);
  EXPECT_LT(runs[0].watts, 0);
  EXPECT_DOUBLE_EQ(runs[1].watts, 50);
  EXPECT_DOUBLE_EQ(history.forecast(key("x"), kAny).sizes[0].watts, 50);
}

TEST(History, KeepsTheLastUsed) {
  History history;
  for (std::size_t i = 0; i < History::kSignatures; ++i) {
    PastRun failed;
    failed.peak_mib = 1;
    history.add(key(std::to_string(i)), failed);
  }
  history.forecast(key("0"), kAny);
  history.add(key("new"), with_peak({}, 1));
  EXPECT_EQ(history.size(), History::kSignatures);
  EXPECT_TRUE(history.forecast(key("0"), kAny).mem_mib.has_value());
  EXPECT_FALSE(history.forecast(key("1"), kAny).mem_mib.has_value());
}

TEST(History, RoundTripAndMerge) {
  History a, b;
  CommandKey x = key("x");
  x.numbers = {5.70378, 0, -2.30259, 0};
  a.add(x, with_peak(ran(10.123456789, 2, 3), 100));
  PastRun short_of = ran(20, 4);
  short_of.load = 0.123456789;
  short_of.launch_s = 3.3;
  short_of.out_of_memory_mib = 300;
  a.add(key("y"), short_of);
  a.add_joules("y", short_of.ended, 12.5);
  b.add(x, with_peak(ran(30), 500));
  auto read = History::parse("history", a.to_json());
  ASSERT_TRUE(bool(read)) << read.error().what;
  EXPECT_EQ(read->to_json(), a.to_json());
  EXPECT_DOUBLE_EQ(*read->forecast(x, kAny).whole_s, *a.forecast(x, kAny).whole_s);
  a.merge(b);
  EXPECT_EQ(a.forecast(x, kAny).runs, 2);
  EXPECT_EQ(a.forecast(x, kAny).sizes[6].runs, 1);
  EXPECT_EQ(a.size(), 2u);
}

TEST(History, ReadsTheFirstVersion) {
  auto old = History::parse(
      "history",
      R"({"smartmig_history":1,"signatures":[{"signature":"x","runs":3,"whole_s":[10,12,11],"peak_mib":[100]}]})");
  ASSERT_TRUE(bool(old)) << old.error().what;
  const Forecast known = old->forecast(key("x"), kAny);
  EXPECT_NEAR(*known.whole_s, 11, 0.6);
  EXPECT_EQ(known.runs, 3);
  EXPECT_EQ(*known.mem_mib, 150);
  EXPECT_NE(old->to_json().find("\"smartmig_history\":2"), std::string::npos);
  old->add(key("x"), ran(90, 1));  // what is seen counts for more than what followed by a rule
  EXPECT_NEAR(old->forecast(key("x"), kAny).sizes[0].s, 90, 10);
}

TEST(History, RefusesWhatItDidNotWrite) {
  const auto complaint = [](std::string_view text) {
    const auto result = History::parse("history", text);
    return result ? std::string("accepted") : result.error().what;
  };
  EXPECT_NE(complaint("{").find("not valid JSON"), std::string::npos);
  EXPECT_NE(complaint(R"({"smartmig_history":9,"signatures":[]})").find("version 9"), std::string::npos);
  EXPECT_NE(complaint(R"({"smartmig_history":2,"signatures":[],"more":1})").find("more"), std::string::npos);
  const char* old =
      R"({{"smartmig_history":1,"signatures":[{{"signature":"x","runs":1,"whole_s":{},"peak_mib":{}}}]}})";
  EXPECT_EQ(complaint(fmt::format(fmt::runtime(old), "[1.5]", "[3]")), "accepted");
  EXPECT_NE(complaint(fmt::format(fmt::runtime(old), "[-1]", "[]")).find("signatures[0].whole_s"), std::string::npos);
  EXPECT_NE(complaint(fmt::format(fmt::runtime(old), "[]", "[1e99]")).find("signatures[0].peak_mib"),
            std::string::npos);
  EXPECT_NE(complaint(fmt::format(fmt::runtime(old), "3", "[]")).find("whole_s must be a list"), std::string::npos);
  const char* row =
      R"({{"smartmig_history":2,"signatures":[{{"signature":"x","runs":1,"epoch":1,"seen":[{}],"peak_mib":[]}}]}})";
  const auto with = [&](const char* run) { return complaint(fmt::format(fmt::runtime(row), run)); };
  EXPECT_EQ(with("[1,7,33.2,0.5,-1,2500,30,1700000000,1,5.7]"), "accepted");
  EXPECT_NE(with("[1,7,33.2]").find("an invalid run"), std::string::npos);
  EXPECT_NE(with("[1,7,33.2,0.5,-1,2500,30,1700000000,1,1,1,1,1,1]").find("an invalid run"), std::string::npos);
  EXPECT_NE(with("[8,7,33.2,0.5,-1,2500,30,1700000000,1]").find("invalid"), std::string::npos);
  EXPECT_NE(with("[1.5,7,33.2,0.5,-1,2500,30,1700000000,1]").find("invalid"), std::string::npos);
  EXPECT_NE(with("[1,7,33.2,0.5,-1,2500,30,1700000000,2]").find("invalid"), std::string::npos) << "of a later epoch";
  EXPECT_NE(with("[1,7,0,0.5,-1,2500,30,1700000000,1]").find("invalid"), std::string::npos);
}

TEST(History, HowMemoryFollowedWorkIsKeptAndStored) {
  History history;
  for (int i = 0; i < 6; ++i) {
    PastWork work;
    work.end_done = i;
    work.held_mib = 100 + i;
    work.by_size.b = 0.5;
    work.by_size.points = 7;
    history.add_work("python3 a.py", work);
  }
  const auto again = History::parse("h", history.to_json());
  ASSERT_TRUE(again);
  const std::vector<PastWork> works = again->works("python3 a.py");
  ASSERT_EQ(works.size(), History::kWorks);
  EXPECT_EQ(works[0].end_done, 5) << "newest first";
  EXPECT_EQ(works[0].held_mib, 105);
  EXPECT_EQ(works[0].by_size.points, 7);
  EXPECT_EQ(again->to_json(), history.to_json());
  EXPECT_TRUE(again->works("python3 b.py").empty());
}

TEST(History, NoFigureOfARunKeepsItFromBeingReadAgain) {
  History history;
  PastWork work;
  work.of = work.end_done = 1e300;
  work.held.rises = {{0.1, 500}, {1e15, 1e300}};
  work.held.of = 1e18;
  work.held.end_done = std::numeric_limits<double>::infinity();
  work.held.duration_s = 60;
  history.add_work("python3 a.py", work);
  const auto again = History::parse("h", history.to_json());
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(again->works("python3 a.py")[0].held.of, 1e12);
  std::string odd = history.to_json();
  const std::size_t at = odd.find("500.0");
  ASSERT_NE(at, odd.npos);
  odd.replace(at, 5, "\"no\"");
  const auto without = History::parse("h", odd);
  ASSERT_TRUE(without) << without.error().what;
  EXPECT_TRUE(without->works("python3 a.py")[0].held.rises.empty());
}

TEST(History, WhatAFrameworkCountedIsStoredAndOlderFilesAreRead) {
  History history;
  PastWork work;
  work.held_mib = 100;
  history.add_work("python3 a.py", work);
  const std::string without = history.to_json();
  EXPECT_TRUE(History::parse("h", without)->works("python3 a.py")[0].held.rises.empty());
  work.held.rises = {{0.1, 500}, {0.6, 900}};
  work.held.end_done = 80;
  work.held.of = 80;
  work.held.duration_s = 60;
  history.add_work("python3 a.py", work);
  const auto again = History::parse("h", history.to_json());
  ASSERT_TRUE(again);
  const HeldRun held = again->works("python3 a.py")[0].held;
  ASSERT_EQ(held.rises.size(), 2u);
  EXPECT_EQ(held.rises[1].work, 0.6);
  EXPECT_EQ(held.peak_mib(), 900);
  EXPECT_EQ(held.end_done, 80);
  EXPECT_EQ(again->to_json(), history.to_json());
  std::string damaged = history.to_json();
  damaged.replace(damaged.find("900"), 3, "400");
  const auto dropped = History::parse("h", damaged);
  ASSERT_TRUE(dropped) << dropped.error().what;
  EXPECT_TRUE(dropped->works("python3 a.py")[0].held.rises.empty()) << "the most held so far never falls";
}

}  // namespace
}  // namespace smartmig
