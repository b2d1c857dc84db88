// What a GPU draws above idle, bounded from below by a part that depends on the configuration of busy slices alone and
// a part that each running job pays itself:
//   watts - idle >= base(configuration) + sum over running jobs of charge(job, class)
// A class is (GPU model, compute slices); its variants of memory are one. A configuration is a count of busy slices per
// class.
//
// Table model: base = table[busy slices] - table[0], no charges: equality.
// Additive model: watts = min(cap, b + x), x the sum of what the running jobs add. Let low_k and high_k be the least
// and the most that any job of the workload adds on class k, y = sum n_k low_k, Z = sum n_k (high_k - low_k), so x = y
// + z with 0 <= z <= Z. For any share s in [0, 1]:  min(cap, b + y + z) - s z  is concave in z, so it is least at z = 0
// or z = Z, and
//   watts - idle >= base(c) + s z,   base(c) = min( min(cap, b + y), min(cap, b + y + Z) - s Z ) - idle.
// s z is paid by the jobs: charge(j, k) = s (added(j, k) - low_k). Without a cap in reach s = 1 gives equality; where
// the cap binds a smaller share may be better. Every share is valid, so the choice is part of the certificate and of no
// proof.
#pragma once
#include <vector>

#include "model/job_table.h"

namespace smartmig {

// (model, compute slices) of a platform, in order of model, then size.
struct SliceClass {
  int model = 0, compute_slices = 0;
  std::vector<TypeId> types;  // the profiles of that size
};
std::vector<SliceClass> slice_classes(const Platform& platform);

class PowerMinorant {
 public:
  // `share` is s, for every model of the platform.
  PowerMinorant(const Platform& platform, const JobTable& jobs, const std::vector<SliceClass>& classes, double share);

  // Watts above idle of a GPU of that model for counts of busy slices by class (all classes of the platform).
  double base(int model, const std::vector<int>& counts) const;
  // Watts that this job pays on this class. REQUIRES: it runs on one of the class's profiles.
  double charge(JobId job, std::size_t k) const;
  bool used(std::size_t k) const { return used_[k]; }  // does any job run on this class?
  bool charges() const { return charges_; }            // does any job pay at all?

 private:
  const Platform* platform_;
  const JobTable* jobs_;
  std::vector<SliceClass> classes_;
  double share_;
  bool charges_ = false;
  std::vector<double> low_, high_;  // by class
  std::vector<bool> used_;
  double least_added(JobId job, std::size_t k) const;
};

}  // namespace smartmig
