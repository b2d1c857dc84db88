#include "sim/peak_load.h"

#include <gtest/gtest.h>

#include "support/fixture.h"

namespace smartmig {
namespace {

Workload jobs_of(const std::vector<std::pair<double, double>>& spans) {  // submit and length, minutes
  Workload out;
  for (const auto& [submit, length] : spans) out.jobs.push_back(fixture::job(submit, -1, fixture::linear(length)));
  return out;
}

TEST(PeakLoad, OneLongJobIsOneGpu) { EXPECT_DOUBLE_EQ(peak_gpus(jobs_of({{0, 1000}})), 1); }

TEST(PeakLoad, AShortBurstIsSpreadOverTheSpan) {
  EXPECT_DOUBLE_EQ(peak_gpus(jobs_of({{10, 36}, {10, 36}, {10, 36}})), 3 * 36 / 360.0);
}

TEST(PeakLoad, TheBusiestStretchMayEndWithAJob) {
  EXPECT_DOUBLE_EQ(peak_gpus(jobs_of({{0, 300}, {250, 100}}), std::chrono::minutes(100)), 1.5);
}

TEST(PeakLoad, NothingIsNothing) { EXPECT_EQ(peak_gpus(Workload{}), 0); }

}  // namespace
}  // namespace smartmig
