#include "research/papers/memory_study.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "research/research_files.h"

namespace smartmig {
namespace {

TEST(MemoryCurves, EveryFamilyReachesItsPeakAndRepeats) {
  std::set<std::string> names;
  for (const CurveFamily& family : curve_families()) {
    EXPECT_TRUE(names.insert(family.name).second);
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const MemoryCurve a = make_curve(family.name, seed, 600, 5000), b = make_curve(family.name, seed, 600, 5000);
      EXPECT_EQ(a.mib, b.mib) << family.name;
      EXPECT_NEAR(*std::max_element(a.mib.begin(), a.mib.end()), 5000, 1e-6) << family.name;
      EXPECT_GE(*std::min_element(a.mib.begin(), a.mib.end()), 0) << family.name;
      EXPECT_NE(a.mib, make_curve(family.name, seed + 100, 600, 5000).mib) << family.name;
    }
  }
}

TEST(MemoryCurves, RecordedOnesAreReadAndBadRowsAreNamed) {
  const auto recorded = parse_recorded_curves("memory_curves.csv", research_file("memory_curves.csv"));
  ASSERT_TRUE(recorded) << recorded.error().what;
  EXPECT_GE(recorded->size(), 10u);
  const auto complaint = [](const char* text) {
    const auto parsed = parse_recorded_curves("f", text);
    return parsed ? std::string("accepted") : parsed.error().what;
  };
  EXPECT_NE(complaint("job,at_s,mib\na,1,x\n").find("line 2"), std::string::npos);
  EXPECT_NE(complaint("a,2,1\na,1,1\n").find("1 s comes after 2 s"), std::string::npos);
  EXPECT_NE(complaint("a,1,1\n").find("10 are needed"), std::string::npos);
  EXPECT_NE(complaint("a,1\n").find("is needed"), std::string::npos);
  EXPECT_EQ(complaint(""), "accepted");
}

TEST(MemoryStudy, WaitingMissesAllAndNeverRestartsForNothing) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const MemoryCase job = make_case("linear", CurveFamily::kTuning, nullptr, seed);
    const Foresight f = judge(job, ForesightMethod::kWait);
    EXPECT_EQ(f.missed, f.doomed);
    EXPECT_EQ(f.false_restarts, 0);
    EXPECT_EQ(f.fitting, 1);
    EXPECT_EQ(f.lost_s > 0, f.doomed > 0);
    EXPECT_EQ(f.missed_heralded, f.heralded);
    EXPECT_LE(f.heralded, f.doomed);
    EXPECT_EQ(f.oracle_s, f.doomed ? job.restart_s : 0);
  }
}

TEST(MemoryStudy, AHeraldIsInTheCurveAndLoadingIsNone) {
  MemoryCurve curve{"made", 1600, std::vector<double>(kFinePoints)};
  const auto announced = [&curve](auto&& mib, double limit) {
    std::size_t failure = kFinePoints;
    for (std::size_t i = kFinePoints; i-- > 0;)
      if ((curve.mib[i] = mib(double(i))) > limit) failure = i;
    EXPECT_LT(failure, kFinePoints);
    return heralded(curve, failure, limit);
  };
  EXPECT_TRUE(announced([](double i) { return 1000 + i; }, 2000));
  EXPECT_TRUE(announced([](double i) { return i < 800 ? 0 : i; }, 1200));  // starts late, then grows
  EXPECT_TRUE(announced([](double i) { return i < 700 ? 500 : i < 1000 ? 1000 : 1500; }, 1400));
  EXPECT_FALSE(announced([](double i) { return i < 700 ? 500 : 1500; }, 1400));           // its first step
  EXPECT_FALSE(announced([](double i) { return i == 900 ? 1500 : 1000; }, 1400));         // a spike
  EXPECT_FALSE(announced([](double i) { return i < 800 ? 2 : 100 * (i - 800); }, 2000));  // loaded within samples
}

TEST(MemoryStudy, OursLosesLeast) {
  MemoryStudyOptions options;
  options.cases_per_family = 6;
  options.threads = 2;
  const auto families = study_memory(options);
  ASSERT_TRUE(families) << families.error().what;
  double lost[kForesightMethods] = {};
  int false_restarts[kForesightMethods] = {}, missed[kForesightMethods] = {};
  for (const FamilyForesight& family : *families)
    for (int m = 0; m < kForesightMethods; ++m) {
      lost[m] += family.by_method[m].lost_s;
      false_restarts[m] += family.by_method[m].false_restarts;
      missed[m] += family.by_method[m].missed;
    }
  const int ours = int(ForesightMethod::kOurs), line = int(ForesightMethod::kLine), wait = int(ForesightMethod::kWait);
  EXPECT_LT(lost[ours], lost[line]);
  EXPECT_LT(lost[ours], lost[wait]);
  EXPECT_LT(false_restarts[ours] * 2, false_restarts[line]);
  EXPECT_LT(missed[ours], missed[wait]);
  for (const FamilyForesight& family : *families)
    EXPECT_LE(family.by_method[ours].oracle_s, family.by_method[wait].lost_s);
}

TEST(MemoryStudy, ThreadsDoNotMatter) {
  MemoryStudyOptions options;
  options.cases_per_family = 2;
  options.tuning_only = true;
  const auto one = study_memory(options);
  options.threads = 3;
  const auto three = study_memory(options);
  for (std::size_t i = 0; i < one->size(); ++i)
    for (int m = 0; m < kForesightMethods; ++m)
      EXPECT_EQ((*one)[i].by_method[m].lost_s, (*three)[i].by_method[m].lost_s);
}

}  // namespace
}  // namespace smartmig
