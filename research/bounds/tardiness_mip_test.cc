#include "research/bounds/tardiness_mip.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/fixture.h"

namespace smartmig {
namespace {

using namespace fixture;

TardinessOptions slots_of(double slot_min) {
  TardinessOptions options;
  options.slot_min = slot_min;
  return options;
}
TardinessBound bound(const Platform& p, std::vector<Job> jobs, const TardinessOptions& options = slots_of(0.25)) {
  return tardiness_bound(p, *bind(std::move(jobs), p), options).value();
}
std::string refusal(const Platform& p, std::vector<Job> jobs, const TardinessOptions& options = slots_of(0.25)) {
  const auto result = tardiness_bound(p, *bind(std::move(jobs), p), options);
  return result ? "" : result.error().what;
}
Shape shape(const Platform& p, std::string_view text) { return parse_shape(*p.models()[0].gpu, text).value(); }

constexpr double kTolerance = 1e-5;

TEST(TardinessMip, NothingToDoIsNeverLate) {
  const auto p = platform("1xa100-40gb");
  EXPECT_EQ(bound(*p, {}).mean_min, 0);
  EXPECT_EQ(bound(*p, {job(0, -1, linear(5))}).mean_min, 0);
  EXPECT_TRUE(bound(*p, {}).proven_optimal);
  EXPECT_EQ(bound(*p, {job(4, 3, {0, 0, 0, 0, 0})}).mean_min, 1);  // over when it comes, and late by then
}

TEST(TardinessMip, OneJobIsExact) {
  const auto p = platform("2xa100-40gb");
  EXPECT_NEAR(bound(*p, {job(1, 2.5, linear(2))}).mean_min, 0.5, kTolerance);
  EXPECT_NEAR(bound(*p, {job(1, 3, linear(2))}).mean_min, 0, kTolerance);
  EXPECT_NEAR(bound(*p, {job(1, 2, linear(2)), job(1, -1, linear(9))}).mean_min, 0.5,
              kTolerance);  // the mean counts all jobs
}

// The optimum lies between the bound and the bound + D.
void expect_encloses(const TardinessBound& b, double optimum) {
  EXPECT_TRUE(b.proven_optimal);
  EXPECT_LE(b.mean_min, optimum + 1e-9);
  EXPECT_GE(b.mean_min + b.slot_min + kTolerance, optimum);
}

TEST(TardinessMip, HandSolvedQueues) {
  const auto one = platform("1xa100-40gb"), two = platform("2xa100-40gb");
  for (const double d : {1.0, 0.5}) {
    SCOPED_TRACE(d);
    // In turn: ends at 2 and 4, due at 2 both.
    expect_encloses(bound(*one, {job(0, 2, linear(2)), job(0, 2, linear(2))}, slots_of(d)), 1);
    expect_encloses(bound(*two, {job(0, 2, linear(2)), job(0, 2, linear(2))}, slots_of(d)), 0);
    // The short one that comes later goes first: ends at 1.5 and 3, due 1.5 and 2.
    expect_encloses(bound(*one, {job(0, 2, linear(2)), job(0.5, 1.5, linear(1))}, slots_of(d)), 0.5);
    // Three equal jobs in turn: late by 1 and 2.
    expect_encloses(bound(*one, {job(0, 1, linear(1)), job(0, 1, linear(1)), job(0, 1, linear(1))}, slots_of(d)), 1);
    // On two boards the third starts at 1 and is late by 1 (sharing would make others late too).
    expect_encloses(bound(*two, {job(0, 1, linear(1)), job(0, 1, linear(1)), job(0, 1, linear(1))}, slots_of(d)),
                    1.0 / 3);
  }
  // Ends on slot borders: the staircases make it exact.
  EXPECT_NEAR(bound(*one, {job(0, 2, linear(2)), job(0, 2, linear(2))}, slots_of(0.125)).mean_min, 1, 0.07);
}

TEST(TardinessMip, FixedLayouts) {
  const auto p = platform("1xa100-40gb");
  TardinessOptions options = slots_of(0.25);
  options.layouts = {shape(*p, "8")};  // 3+1+1+1+1
  // 6 slice-minutes: 2 minutes on the 3g. The second does 2 of its 6 on a 1g meanwhile and ends at 2 + 4/3.
  const Work six = {6, 3, 2, 1.5, 6.0 / 7};
  expect_encloses(bound(*p, {job(0, 1, six)}, options), 1);
  expect_encloses(bound(*p, {job(0, 2, six), job(0, 2, six)}, options), 2.0 / 3);
  // A job that gains nothing beyond one slice: 6 minutes at its own speed, 2 linearised.
  const Work flat = {6, 6, 6, 6, 6};
  expect_encloses(bound(*p, {job(0, 2, flat)}, options), 0);
  options.own_speeds = true;
  expect_encloses(bound(*p, {job(0, 2, flat)}, options), 4);
  EXPECT_EQ(
      refusal(*p, {job(0, 2, {-1, 6, 6, 6, 6})}, options),
      "the paper's tardiness bound with the jobs' own speeds needs a time of job 0 on every slice of the layouts");
  options.layouts.clear();
  EXPECT_NE(refusal(*p, {job(0, 2, flat)}, options).find("needs the layouts"), std::string::npos);
  options.layouts.assign(2, shape(*p, "8"));
  EXPECT_NE(refusal(*p, {job(0, 2, flat)}, options).find("one layout for each of 1 GPUs, not 2"), std::string::npos);
}

TEST(TardinessMip, TheRelaxationKnowsThatSlowSlicesTakeTheirTime) {
  const auto p = platform("1xa100-40gb");
  TardinessOptions options = slots_of(0.25);
  options.layouts = {shape(*p, "8")};  // 3+1+1+1+1
  options.limits.seconds = 0;
  // Five at once, due when the fastest could be done. The machines do 7 slice-minutes a minute, so that the 30 can all be
  // done by 30/7. Without the lines on the speed of the work the relaxation proves 1.2 min.
  const Work six = {6, 3, 2, 1.5, 6.0 / 7};
  const double proven = bound(*p, std::vector<Job>(5, job(0, 2, six)), options).mean_min;
  EXPECT_GT(proven, 1.5);
  EXPECT_LT(proven, 30.0 / 7 - 2);
}

TEST(TardinessMip, ATimeOutGivesAProvenBound) {
  const auto p = platform("1xa100-40gb");
  std::vector<Job> jobs;
  for (int i = 0; i < 4; ++i) jobs.push_back(job(0.3 * i, 1 + 0.7 * i, linear(0.6 + 0.37 * (i * 3 % 4))));
  TardinessOptions long_enough = slots_of(0.5);
  long_enough.limits.nodes = 15;
  const TardinessBound full = bound(*p, jobs, long_enough);
  ASSERT_TRUE(std::isfinite(full.mip_gap_min));
  ASSERT_GT(full.mean_min, 0);
  for (const MipLimits& limits :
       {MipLimits{60, 1000, 0}, MipLimits{0, 1000}, MipLimits{60, 0}, MipLimits{60, 2}, MipLimits{0.02, 1000}}) {
    SCOPED_TRACE(
        fmt::format("{} s, {} nodes, relaxation {} s", limits.seconds, limits.nodes, limits.relaxation_seconds));
    TardinessOptions options = slots_of(0.5);
    options.limits = limits;
    const TardinessBound some = bound(*p, jobs, options);
    EXPECT_LE(some.mean_min, full.mean_min + full.mip_gap_min + kTolerance);
    EXPECT_GE(some.mean_min, 0);
    if (limits.relaxation_seconds > 0) {
      EXPECT_GT(some.mean_min, 0.5 * full.mean_min);  // the relaxation is good by itself
    }
  }
}

TEST(TardinessMip, Refusals) {
  const auto p = platform("1xa100-40gb");
  EXPECT_EQ(refusal(*p, {job(0, 9, {7, 3.5, 2, 1.75, 1})}),
            "the paper's tardiness bound does not hold: job 0 is superlinear on 3g.20gb");
  EXPECT_EQ(refusal(*p, {job(0, 9, {-1, 3.5, 3, 2, 1})}),
            "the paper's tardiness bound does not hold: job 0 has no time on one slice");
  EXPECT_NE(refusal(*platform("1xa100-40gb,1xa30-24gb", "linear:60:45:300"), {job(0, 9, linear(1))})
                .find("applies to one GPU model"),
            std::string::npos);
  EXPECT_NE(refusal(*p, {job(0, 9, linear(1))}, slots_of(0)).find("slots longer than 0"), std::string::npos);
  EXPECT_NE(refusal(*p, {job(0, 9, linear(1000)), job(0, 9, linear(1000))}, slots_of(0.001))
                .find("use fewer jobs, wider slots"),
            std::string::npos);
}

}  // namespace
}  // namespace smartmig
