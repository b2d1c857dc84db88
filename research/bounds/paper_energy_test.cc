#include "research/bounds/paper_energy.h"

#include <gtest/gtest.h>

#include "support/fixture.h"

namespace smartmig {
namespace {

using namespace fixture;

double bound_wmin(const Platform& p, std::vector<Job> jobs) {
  return watt_minutes(paper_energy_bound_joules(p, *bind(std::move(jobs), p)).value());
}
std::string energy_refusal(const Platform& p, std::vector<Job> jobs) {
  const auto result = paper_energy_bound_joules(p, *bind(std::move(jobs), p));
  return result ? "" : result.error().what;
}

TEST(PaperEnergy, ByHand) {
  const auto one = platform("1xa100-40gb"), two = platform("2xa100-40gb");
  EXPECT_EQ(bound_wmin(*one, {}), 0);
  EXPECT_NEAR(bound_wmin(*one, {job(0, 9, linear(2))}), 2 * 248.5, 1e-6);
  // A board without work idles; so does every board before the first release.
  EXPECT_NEAR(bound_wmin(*two, {job(0, 9, linear(2))}), 2 * 248.5 + 2 * 40, 1e-6);
  EXPECT_NEAR(bound_wmin(*one, {job(3, 9, linear(2))}), 2 * 248.5 + 3 * 40, 1e-6);
  // Two boards share three jobs of 2 minutes: 3 minutes, no idle time.
  EXPECT_NEAR(bound_wmin(*two, {job(0, 9, linear(2)), job(0, 9, linear(2)), job(0, 9, linear(2))}), 6 * 248.5, 1e-5);
  // Linearised: 7 minutes on one slice count as one minute on seven, whatever the job does there.
  EXPECT_NEAR(bound_wmin(*one, {job(0, 9, {7, 7, 7, 7, 7})}), 248.5, 1e-6);
}

TEST(PaperEnergy, RefusesWhereItsPremisesFail) {
  const auto paper = platform("1xa100-40gb");
  EXPECT_EQ(energy_refusal(*paper, {job(0, 9, {7, 3.5, 2, 1.75, 1})}),
            "the paper's energy bound does not hold: job 0 is superlinear on 3g.20gb");
  EXPECT_EQ(energy_refusal(*paper, {job(0, 9, linear(1)), job(1, 9, {-1, 3.5, 3, 2, 1})}),
            "the paper's energy bound does not hold: job 1 has no time on one slice");
  EXPECT_EQ(energy_refusal(*platform("1xa100-40gb,1xa30-24gb", "linear:60:45:300"), {job(0, 9, linear(1))}),
            "the paper's energy bound applies to one GPU model, not to 1xa100-40gb,1xa30-24gb");
  EXPECT_NE(energy_refusal(*platform("1xa100-40gb", "a100-jobs"), {job(0, 9, linear(1))})
                .find("needs a power table by busy slices"),
            std::string::npos);
  // Times rounded to microseconds are not superlinear.
  Job rounded_down = job(0, 9, linear(1));
  for (const int k : {1, 2, 3, 4, 7}) rounded_down.work[std::size_t(k - 1)] = Time(10'000'000 / k);
  EXPECT_EQ(energy_refusal(*paper, {rounded_down}), "");
}

}  // namespace
}  // namespace smartmig
