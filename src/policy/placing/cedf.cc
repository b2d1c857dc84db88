#include <optional>

#include "policy/placing/placing_rules.h"
#include "policy/placing/slice_rules.h"

namespace smartmig {

CedfClasses::CedfClasses(const Platform& platform) {
  const GpuModel& gpu = *platform.models()[0].gpu;
  const auto plain_of_size = [&](int slices) {
    for (std::size_t p = 0; p < gpu.profiles().size(); ++p)
      if (gpu.profiles()[p].variant == Variant::kPlain && gpu.profiles()[p].compute_slices == slices) return TypeId(p);
    return kNoType;
  };
  whole_ = plain_of_size(gpu.compute_slices());
  for (const int slices : {4, 2, 1})
    if (slices < gpu.compute_slices() && plain_of_size(slices) != kNoType) ladder_.push_back(plain_of_size(slices));
}

int CedfClasses::of(const JobTable& jobs, JobId job) const {
  const Time whole = jobs.work(job, whole_);
  int cls = 1;
  for (const TypeId type : ladder_) {
    // thr(k) < 0.8 thr(whole)  <=>  work(whole) < 0.8 work(k)
    const Time work = jobs.work(job, type);
    if (whole >= Time{0} && (work < Time{0} || double(whole.count()) < 0.8 * double(work.count()))) return cls;
    ++cls;
  }
  return cls;
}

namespace {

class Cedf : public TurnRule {
 public:
  std::int64_t turn(const Cluster& cluster, JobId job) const override {
    if (platform_ != &cluster.platform()) {
      platform_ = &cluster.platform();
      classes_.emplace(*platform_);
    }
    return classes_->of(cluster.jobs(), job);
  }
  Slot choose(const Cluster& cluster, const PlacingState& board, JobId job) override {
    return first_on_time_else_earliest(cluster, board, job, board.by_mean_size());
  }

 private:
  mutable const Platform* platform_ = nullptr;
  mutable std::optional<CedfClasses> classes_;  // for platform_
};

class IndexedCedf : public Cedf {
 public:
  Slot choose(const Cluster& cluster, const PlacingState& board, JobId job) override {
    const Time deadline = cluster.jobs().job(job).deadline;
    FreeSlices::First on_time, earliest;
    Time earliest_finish = kNever;
    for (const TypeId type : board.free().types()) {
      const FreeSlices::First first = board.free().first(type);
      if (first.slot.none()) continue;
      const Time end = cluster.finish_on(job, type);
      if (end == kNever) continue;
      if (end <= deadline && first.scan < on_time.scan) on_time = first;
      if (end < earliest_finish || (end == earliest_finish && first.scan < earliest.scan)) {
        earliest_finish = end;
        earliest = first;
      }
    }
    return on_time.slot.none() ? earliest.slot : on_time.slot;
  }
};

}  // namespace

std::unique_ptr<TurnRule> make_indexed_cedf_rule() { return std::make_unique<IndexedCedf>(); }
std::unique_ptr<TurnRule> make_cedf_rule() { return std::make_unique<Cedf>(); }

}  // namespace smartmig
