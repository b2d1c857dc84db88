// Bounds a GPU's watts above idle from below. One part depends only on the configuration of busy slices; each running
// job pays the other part itself:
//   watts - idle >= base(configuration) + sum over running jobs of charge(job, class)
// A class is (GPU model, compute slices); variants of memory belong to one class. A configuration is a count of busy
// slices per class.
//
// Table model: base = table[busy slices] - table[0], no charges: equality.
// Additive model: watts = min(cap, b + x), where x is the sum of what the running jobs add. Let low_k and high_k be the
// least and the most that any job of the workload adds on class k, y = sum n_k low_k, Z = sum n_k (high_k - low_k), so
// x = y + z with 0 <= z <= Z. For any share s in [0, 1]:  min(cap, b + y + z) - s z  is concave in z, so it is least at
// z = 0 or z = Z, and
//   watts - idle >= base(c) + s z,   base(c) = min( min(cap, b + y), min(cap, b + y + Z) - s Z ) - idle.
// The jobs pay s z: charge(j, k) = s (added(j, k) - low_k). If the cap is out of reach, s = 1 gives equality; if it
// binds, a smaller share may be better. Every share is valid, so the choice is part of the certificate, not of a proof.
#pragma once
#include <vector>

#include "model/job_table.h"

namespace smartmig {

// (model, compute slices) of a platform, by model, then by size.
struct SliceClass {
  int model = 0, compute_slices = 0;
  std::vector<TypeId> types;  // the profiles of that size
};
std::vector<SliceClass> slice_classes(const Platform& platform);

class PowerMinorant {
 public:
  // `share` is s, the same for every model of the platform.
  PowerMinorant(const Platform& platform, const JobTable& jobs, const std::vector<SliceClass>& classes, double share);

  // Watts above idle of a GPU of that model, for counts of busy slices by class (all classes of the platform).
  double base(int model, const std::vector<int>& counts) const;
  // Watts that this job pays on this class. REQUIRES: it runs on one of the class's profiles.
  double charge(JobId job, std::size_t k) const;
  bool used(std::size_t k) const { return used_[k]; }  // whether any job runs on this class
  bool charges() const { return charges_; }            // whether any job pays

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
