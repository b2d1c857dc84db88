#include "policy/planner/market_planner.h"

#include <algorithm>

#include "base/check.h"

namespace smartmig {
namespace {

constexpr Time kLongestWait = Time(10'000'000);  // between plans of a large fleet
constexpr std::size_t kGpusPerEvent = 8;         // a fleet of 8 re-plans at every event

bool inside(const GpuModel& gpu, Shape part, Shape whole) {
  for (int p = 0; p < int(gpu.profiles().size()); ++p)
    if (part.count(p) > whole.count(p)) return false;
  return true;
}

int compute_slices(const GpuModel& gpu, Shape shape) {
  int total = 0;
  for (int p = 0; p < int(gpu.profiles().size()); ++p)
    total += shape.count(p) * gpu.profiles()[std::size_t(p)].compute_slices;
  return total;
}

}  // namespace

// Sets up configurations for a fleet not seen before, or when a job turns up that needs a double-memory slice.
void MarketPlanner::see_new_cluster(const Cluster& cluster) {
  const Platform& platform = cluster.platform();
  market_type_.assign(platform.types().size(), -1);
  type_of_market_.clear();
  for (std::size_t t = 0; t < platform.types().size(); ++t) {
    const Variant variant = platform.profile(TypeId(t)).variant;
    if (variant != Variant::kPlain && !(doubles_ && variant == Variant::kDoubleMemory)) continue;
    market_type_[t] = int(type_of_market_.size());
    type_of_market_.push_back(TypeId(t));
  }
  SMARTMIG_CHECK(type_of_market_.size() <= SlotMarket::kMaxTypes, "a fleet with {} slice types; the planner takes {}",
                 type_of_market_.size(), SlotMarket::kMaxTypes);
  groups_.assign(platform.models().size(), {});
  choices_.assign(platform.models().size(), {});
  for (std::size_t m = 0; m < platform.models().size(); ++m) {
    const Platform::Model& model = platform.models()[m];
    const GpuModel& gpu = *model.gpu;
    ProfileMask profiles = doubles_ ? gpu.schedulable_profiles() : gpu.plain_profiles();
    for (std::size_t p = 0; p < gpu.profiles().size(); ++p)  // soft halves: whoever fits one fits a plain slice
      if (gpu.profiles()[p].variant == Variant::kHalfMemory) profiles &= ~(ProfileMask(1) << p);
    const ShapeTable table(gpu, profiles);
    const std::vector<Shape> maximal = table.maximal_shapes();
    for (const Shape& shape : table.shapes()) {
      SlotConfiguration configuration;
      for (int p = 0; p < int(gpu.profiles().size()); ++p)
        if (shape.count(p) > 0) {
          const int type = market_type_[std::size_t(model.first_type + p)];
          SMARTMIG_CHECK(type >= 0, "{} of {} is on no market", gpu.profiles()[std::size_t(p)].name, gpu.name());
          configuration.slots[std::size_t(type)] = std::uint8_t(shape.count(p));
        }
      const int slices = compute_slices(gpu, shape);
      const double watts = model.power.is_table() ? model.power.watts(slices, 0) - model.power.idle() : 0;
      const auto host = std::find_if(maximal.begin(), maximal.end(), [&](Shape s) { return inside(gpu, shape, s); });
      choices_[m].push_back({shape, *host, watts});
      groups_[m].configurations.push_back(configuration);
    }
    groups_[m].gpus.assign(choices_[m].size(), 0);
  }
  choice_of_gpu_.assign(platform.gpus(), 0);
  for (std::size_t g = 0; g < platform.gpus(); ++g) {
    const int m = platform.model_index(GpuId(g));
    const auto& choices = choices_[std::size_t(m)];
    const auto empty = std::find_if(choices.begin(), choices.end(), [](const Choice& c) { return c.shape.empty(); });
    SMARTMIG_CHECK(empty != choices.end(), "the shapes of {} have no empty one",
                   platform.models()[std::size_t(m)].gpu->name());
    choice_of_gpu_[g] = int(empty - choices.begin());
    ++groups_[std::size_t(m)].gpus[std::size_t(choice_of_gpu_[g])];
  }
  identity_ = cluster.identity();
  planned_time_ = Time{-1};
}

bool MarketPlanner::due(const Cluster& cluster) {
  events_ += cluster.news().size();
  const std::uint64_t period = (cluster.gpus().size() + kGpusPerEvent - 1) / kGpusPerEvent;
  // With fewer jobs than GPUs planning is cheap, and the next event may be hours away.
  const bool now = planned_time_ < Time{0} || events_ - planned_at_ >= period || cluster.running() == 0 ||
                   cluster.unfinished() <= cluster.gpus().size() || cluster.now() - planned_time_ >= kLongestWait;
  if (now) {
    planned_at_ = events_;
    planned_time_ = cluster.now();
  }
  return now;
}

void MarketPlanner::plan_sizes(const Cluster& cluster, double w) {
  gather(cluster, false, w);
  for (std::size_t m = 0; m < groups_.size(); ++m)
    for (std::size_t c = 0; c < choices_[m].size(); ++c) groups_[m].configurations[c].cost = w * choices_[m][c].watts;
  sizes_.optimise(market_, groups_);
}

std::int64_t MarketPlanner::served() const {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < market_.items(); ++i)
    for (int t = 0; t < market_.types(); ++t) total += market_.assigned(i, t);
  return total;
}

void MarketPlanner::plan_anew(const Cluster& cluster) {
  if (identity_ != cluster.identity()) see_new_cluster(cluster);
  plan_sizes(cluster, options_.w);
  // Waiting may be worth the energy it saves, but not for ever: without a running job no event would wake the planner.
  if (!jobs_.empty() && served() == 0) plan_sizes(cluster, 0);
  assign_configurations(cluster);
}

void MarketPlanner::decide(const Cluster& cluster, Plan& plan) {
  SMARTMIG_CHECK(cluster.cost().free(), "under hardware costs the list planner plans");
  if (cluster.last_plan_refused()) identity_ = 0;
  if (identity_ == cluster.identity() && !due(cluster)) return;
  replan(cluster, plan);
}

void MarketPlanner::replan(const Cluster& cluster, Plan& plan) {
  plan_anew(cluster);
  hand_out();
  place_jobs(cluster, plan);
}

void MarketPlanner::wanted_shapes(const Cluster& cluster, std::vector<Shape>& shapes) {
  plan_anew(cluster);
  const Platform& platform = cluster.platform();
  for (std::size_t g = 0; g < platform.gpus(); ++g) {
    const Choice& choice = choices_[std::size_t(platform.model_index(GpuId(g)))][std::size_t(choice_of_gpu_[g])];
    const GpuModel& gpu = *platform.model(GpuId(g)).gpu;
    if (!inside(gpu, choice.shape, shapes[g])) shapes[g] = choice.host;
  }
}

// Counts become GPUs: each keeps its configuration while there is one left, the others take what remains in order.
void MarketPlanner::assign_configurations(const Cluster& cluster) {
  const Platform& platform = cluster.platform();
  for (std::size_t m = 0; m < groups_.size(); ++m) {
    std::vector<std::int64_t>& left = groups_[m].gpus;
    const std::vector<std::int64_t> wanted = left;
    for (const bool keep : {true, false}) {
      std::size_t next = 0;
      for (std::size_t g = 0; g < platform.gpus(); ++g) {
        if (std::size_t(platform.model_index(GpuId(g))) != m) continue;
        int& choice = choice_of_gpu_[g];
        if (keep) {
          if (left[std::size_t(choice)] > 0)
            --left[std::size_t(choice)];
          else
            choice = -1;
        } else if (choice < 0) {
          while (left[next] == 0) ++next;
          --left[next];
          choice = int(next);
        }
      }
    }
    left = wanted;
  }
}

}  // namespace smartmig
