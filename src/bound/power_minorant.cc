#include "bound/power_minorant.h"

#include <algorithm>
#include <limits>

namespace smartmig {

std::vector<SliceClass> slice_classes(const Platform& platform) {
  std::vector<SliceClass> classes;
  for (std::size_t t = 0; t < platform.types().size(); ++t) {
    const SliceType& type = platform.types()[t];
    const auto same = [&](const SliceClass& c) {
      return c.model == type.model && c.compute_slices == type.compute_slices;
    };
    auto found = std::find_if(classes.begin(), classes.end(), same);
    if (found == classes.end()) found = classes.insert(classes.end(), {type.model, type.compute_slices, {}});
    found->types.push_back(TypeId(t));
  }
  std::sort(classes.begin(), classes.end(), [](const SliceClass& a, const SliceClass& b) {
    return a.model != b.model ? a.model < b.model : a.compute_slices < b.compute_slices;
  });
  return classes;
}

PowerMinorant::PowerMinorant(const Platform& platform, const JobTable& jobs, const std::vector<SliceClass>& classes,
                             double share)
    : platform_(&platform),
      jobs_(&jobs),
      classes_(classes),
      share_(share),
      low_(classes.size()),
      high_(classes.size()) {
  used_.resize(classes.size());
  for (std::size_t k = 0; k < classes.size(); ++k) {
    double low = std::numeric_limits<double>::infinity(), high = 0;
    for (std::size_t j = 0; j < jobs.size(); ++j)
      for (const TypeId t : classes[k].types) {
        if (jobs.work(JobId(j), t) < Time{0}) continue;
        low = std::min(low, jobs.added_watts(JobId(j), t));
        high = std::max(high, jobs.added_watts(JobId(j), t));
        used_[k] = true;
      }
    if (!used_[k]) continue;
    low_[k] = low;
    high_[k] = high;
    charges_ |= share > 0 && high > low;
  }
}

double PowerMinorant::base(int model, const std::vector<int>& counts) const {
  const PowerModel& power = platform_->models()[std::size_t(model)].power;
  int busy = 0;
  double y = 0, z = 0;
  for (std::size_t k = 0; k < classes_.size(); ++k) {
    if (classes_[k].model != model) continue;
    busy += counts[k] * classes_[k].compute_slices;
    y += counts[k] * low_[k];
    z += counts[k] * (high_[k] - low_[k]);
  }
  if (busy == 0) return 0;
  return std::min(power.watts(busy, y), power.watts(busy, y + z) - share_ * z) - power.idle();
}

double PowerMinorant::least_added(JobId job, std::size_t k) const {
  double least = std::numeric_limits<double>::infinity();
  for (const TypeId t : classes_[k].types)
    if (jobs_->work(job, t) >= Time{0}) least = std::min(least, jobs_->added_watts(job, t));
  return least;
}

double PowerMinorant::charge(JobId job, std::size_t k) const {
  if (!charges_ || high_[k] <= low_[k]) return 0;
  return share_ * (least_added(job, k) - low_[k]);
}

}  // namespace smartmig
