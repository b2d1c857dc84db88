#include "eval/layout_shares.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "eval/guard.h"
#include "sim/simulate.h"

namespace smartmig {
namespace {

// Watches a policy: what the fleet looked like since the last event belongs to the time that has passed.
class Watched : public Policy {
 public:
  Watched(Policy& inner, const std::vector<Shape>& shapes)
      : inner_(inner), shapes_(shapes), share(shapes.size() + 1, 0) {}

  void decide(const Cluster& cluster, Plan& plan) override {
    const double passed = minutes(cluster.now() - last_);
    for (std::size_t s = 0; s < share.size(); ++s) share[s] += passed * double(counts_[s]);
    last_ = cluster.now();
    look_at_queue(cluster);
    inner_.decide(cluster, plan);
    counts_.fill(0);
    std::vector<Layout> after;
    for (const GpuState& gpu : cluster.gpus()) after.push_back(gpu.target);
    for (const Reshape& reshape : plan.reshapes) after[index(reshape.gpu)] = reshape.to;
    const GpuModel& gpu = *cluster.platform().models()[0].gpu;
    for (const Layout layout : after) ++counts_[number_of(gpu, layout)];
  }

 private:
  // The papers' layout with the same compute slices: a 1g with double memory counts as 1g.
  std::size_t number_of(const GpuModel& gpu, Layout layout) const {
    const auto sizes = [&](Shape shape) {
      std::array<int, 16> out{};
      for (int p = 0; p < int(gpu.profiles().size()); ++p)
        out[std::size_t(gpu.profiles()[std::size_t(p)].compute_slices)] += shape.count(p);
      return out;
    };
    const auto mine = sizes(shape_of(gpu, layout));
    for (std::size_t s = 0; s < shapes_.size(); ++s)
      if (sizes(shapes_[s]) == mine) return s;
    return shapes_.size();
  }

  void look_at_queue(const Cluster& cluster) {
    const std::size_t hour = std::size_t(std::clamp(minutes(cluster.now()) / 60, 0.0, 47.0));
    for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job)) {
      const Job& j = cluster.jobs().job(job);
      const double one = double(j.work_on(1).count());
      if (one <= 0) continue;
      bool whole = true;
      std::array<double, 5> curve{};
      for (std::size_t k = 0; k < kSizes.size(); ++k) {
        const double t = double(j.work_on(kSizes[k]).count());
        whole &= t > 0;
        curve[k] = t > 0 ? one / t : 0;
      }
      if (!whole) continue;
      for (std::size_t k = 0; k < curve.size(); ++k) sums[hour][k] += curve[k];
      seen[hour] += 1;
    }
  }

  Policy& inner_;
  const std::vector<Shape>& shapes_;
  std::array<std::uint64_t, 16> counts_{};
  Time last_{};

 public:
  static constexpr std::array<int, 5> kSizes{1, 2, 3, 4, 7};
  std::vector<double> share;
  std::array<std::array<double, 5>, 48> sums{};
  std::array<double, 48> seen{};
};

double slope(const std::array<double, 5>& curve) {
  double x = 0, y = 0, xx = 0, xy = 0;
  for (std::size_t k = 0; k < curve.size(); ++k) {
    const double s = Watched::kSizes[k];
    x += s;
    y += curve[k];
    xx += s * s;
    xy += s * curve[k];
  }
  return (5 * xy - x * y) / (5 * xx - x * x);
}

}  // namespace

Result<LayoutShares> layout_shares(const Setting& setting, const Contender& contender,
                                   const std::vector<std::uint64_t>& seeds, int threads) {
  if (setting.platform->models().size() != 1)
    return invalid("layout shares are counted for fleets of one model; {} has {}", setting.platform->spec(),
                   setting.platform->models().size());
  const std::vector<Shape> shapes = paper_shapes(*setting.platform->models()[0].gpu);
  if (shapes.empty()) return invalid("{} has none of the papers' layouts", setting.platform->models()[0].gpu->name());
  struct OneDay {
    std::vector<double> share;
    std::array<std::array<double, 5>, 48> sums{};
    std::array<double, 48> seen{};
  };
  std::vector<Result<OneDay>> days(seeds.size(), Result<OneDay>(invalid("not run")));
  run_parallel(seeds.size(), threads, [&](std::size_t d) {
    days[d] = [&]() -> Result<OneDay> {
      SMARTMIG_TRY(const Day day, make_day(setting, seeds[d]));
      PolicyOptions options = contender.options;
      options.rule.a = setting.a;
      options.rule.w = per_job_weight(setting, day.jobs->workload());
      SMARTMIG_TRY(NamedPolicy named, make_any_policy(contender.policy, options, setting.cost, setting.platform));
      SMARTMIG_TRY(auto initial, initial_layouts(*setting.platform, named.initial));
      Watched watched(*named.policy, shapes);
      SMARTMIG_TRY(const SimResult result,
                   simulate({setting.platform, day.jobs, setting.cost, std::move(initial), setting.a}, watched));
      (void)result;
      return OneDay{watched.share, watched.sums, watched.seen};
    }();
  });
  LayoutShares out;
  out.share.assign(shapes.size() + 1, 0);
  std::array<std::array<double, 5>, 48> sums{};
  std::array<double, 48> seen{};
  double total = 0;
  for (const auto& day : days) {
    if (!day) return day.error();
    for (std::size_t s = 0; s < out.share.size(); ++s) {
      out.share[s] += day->share[s];
      total += day->share[s];
    }
    for (std::size_t h = 0; h < seen.size(); ++h) {
      seen[h] += day->seen[h];
      for (std::size_t k = 0; k < 5; ++k) sums[h][k] += day->sums[h][k];
    }
  }
  for (double& s : out.share) s /= total;
  out.sublinearity_low = HUGE_VAL;
  out.sublinearity_high = 0;
  for (std::size_t h = 0; h < 24; ++h) {
    if (seen[h] == 0) continue;
    std::array<double, 5> mean;
    for (std::size_t k = 0; k < 5; ++k) mean[k] = sums[h][k] / seen[h];
    out.sublinearity_low = std::min(out.sublinearity_low, slope(mean));
    out.sublinearity_high = std::max(out.sublinearity_high, slope(mean));
  }
  return out;
}

}  // namespace smartmig
