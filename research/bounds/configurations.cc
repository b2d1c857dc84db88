#include "research/bounds/configurations.h"

#include <algorithm>

namespace smartmig {
namespace {

bool beats(const Configuration& a, const Configuration& b) {
  if (a.running != b.running || a.watts > b.watts) return false;
  for (std::size_t j = 0; j < a.minutes.size(); ++j)
    if (a.minutes[j] > b.minutes[j]) return false;
  return true;
}

std::vector<Configuration> unbeaten(const std::vector<Configuration>& all) {
  std::vector<Configuration> kept;
  for (const Configuration& next : all) {
    if (std::any_of(kept.begin(), kept.end(), [&](const Configuration& k) { return beats(k, next); })) continue;
    std::erase_if(kept, [&](const Configuration& k) { return beats(next, k); });
    kept.push_back(next);
  }
  std::stable_sort(kept.begin(), kept.end(),
                   [](const Configuration& a, const Configuration& b) { return a.running < b.running; });
  return kept;
}

bool has_work(const JobTable& jobs, std::size_t j) {
  const auto row = jobs.work_row(JobId(j));
  return std::none_of(row.begin(), row.end(), [](Time t) { return t == Time{0}; });
}

class OneGpu {
 public:
  OneGpu(const Platform::Model& model, const JobTable& jobs) : model_(model), jobs_(jobs) {}

  std::vector<Configuration> list() {
    for (const Shape shape : model_.shapes->shapes()) {
      slices_.clear();
      for (std::size_t p = 0; p < model_.gpu->profiles().size(); ++p)
        slices_.insert(slices_.end(), std::size_t(shape.count(int(p))), int(p));
      Configuration empty;
      empty.minutes.resize(jobs_.size());
      if (slices_.size() <= jobs_.size()) fill(0, 0, 0, 0, empty);
    }
    return unbeaten(found_);
  }

 private:
  // Slices of one profile take jobs in increasing order, since it does not matter which takes which.
  void fill(std::size_t next, std::size_t from, int busy, double added, Configuration& partial) {
    if (next == slices_.size()) {
      partial.watts = model_.power.watts(busy, added);
      found_.push_back(partial);
      return;
    }
    const int profile = slices_[next];
    const TypeId type = TypeId(model_.first_type + profile);
    const bool same = next + 1 < slices_.size() && slices_[next + 1] == profile;
    for (std::size_t j = from; j < jobs_.size(); ++j) {
      const Time work = jobs_.work(JobId(j), type);
      if ((partial.running >> j & 1) || work <= Time{0} || !has_work(jobs_, j)) continue;
      partial.running |= 1u << j;
      partial.minutes[j] = minutes(work);
      fill(next + 1, same ? j + 1 : 0, busy + model_.gpu->profiles()[std::size_t(profile)].compute_slices,
           added + jobs_.added_watts(JobId(j), type), partial);
      partial.minutes[j] = 0;
      partial.running &= ~(1u << j);
    }
  }

  const Platform::Model& model_;
  const JobTable& jobs_;
  std::vector<int> slices_;  // profiles of the present shape
  std::vector<Configuration> found_;
};

}  // namespace

std::vector<Configuration> configurations(const Platform& platform, const JobTable& jobs) {
  SMARTMIG_CHECK(jobs.size() <= 32);
  std::vector<Configuration> fleet{{std::vector<double>(jobs.size()), 0, 0}};
  for (std::size_t g = 0; g < platform.gpus(); ++g) {
    const std::vector<Configuration> one = OneGpu(platform.model(GpuId(g)), jobs).list();
    std::vector<Configuration> joint;
    for (const Configuration& a : fleet)
      for (const Configuration& b : one) {
        if (a.running & b.running) continue;
        joint.push_back({a.minutes, a.running | b.running, a.watts + b.watts});
        for (std::size_t j = 0; j < jobs.size(); ++j) joint.back().minutes[j] += b.minutes[j];
      }
    fleet = unbeaten(joint);
  }
  return fleet;
}

}  // namespace smartmig
