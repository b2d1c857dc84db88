#include "policy/placing_rules.h"
#include "policy/slice_rules.h"

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

class Cedf : public PlacingRule {
 public:
  void order(const Cluster& cluster, std::vector<JobId>& jobs) override {
    const CedfClasses classes(cluster.platform());
    class_.resize(cluster.jobs().size());
    for (JobId job : jobs) class_[index(job)] = std::uint8_t(classes.of(cluster.jobs(), job));
    order_by(cluster, jobs, [&](JobId job) { return class_[index(job)]; });
  }
  Slot choose(const Cluster& cluster, const Board& board, JobId job) override {
    return first_on_time_else_earliest(cluster, board, job, board.by_mean_size());
  }

 private:
  std::vector<std::uint8_t> class_;
};

}  // namespace

std::unique_ptr<PlacingRule> make_cedf_rule() { return std::make_unique<Cedf>(); }

}  // namespace smartmig
