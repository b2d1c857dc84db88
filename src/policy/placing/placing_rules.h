// The placing rules by name, as the papers define them. Jobs tie by id, GPUs by index, slices go small to large, and a
// fallback takes the first strictly earliest finish in scan order.
//
//   name       jobs in order of       slice for each
//   edf        deadline               EDF's slice rule; GPUs by occupied fraction, descending, recomputed each time
//   fifo       arrival                as edf
//   cedf       class, then deadline   EDF's slice rule; GPUs by mean slice size, descending
//   met        deadline               the free one of least (a * extra watt-minutes + tardiness minutes) / (a + 1)
//   met-w      deadline               as met, with w = a * n in place of a
//   random     deadline               a random free one
//   dedicated  deadline               as edf; the first GPUs take only inference jobs, the others only training
//   edf-fast   deadline               the free one with the earliest finish
//   edf-slow   deadline               the slowest free one that meets the deadline, else the earliest finish
//   llf-fast   least laxity           as edf-fast
//   llf-slow   least laxity           as edf-slow
//
// EDF's slice rule: the first free slice on which the job meets its deadline, else the one with the earliest finish.
#pragma once
#include <memory>
#include <string_view>

#include "model/summary.h"
#include "policy/placing/plain_placer.h"

namespace smartmig {

struct RuleOptions {
  double a = kPaperA;      // weight of a watt-minute against a minute of mean tardiness
  double w = 0;            // a * n: weight of a watt-minute against a minute of one job's tardiness
  std::uint64_t seed = 1;  // of random choices
  int inference_gpus = 0;  // dedicated: GPUs for inference; 0: a quarter, at least one; one remains for training
};

std::unique_ptr<TurnRule> make_edf_rule();
std::unique_ptr<TurnRule> make_cedf_rule();
std::unique_ptr<TurnRule> make_indexed_cedf_rule();  // makes the same choices, through PlacingState::free()
std::unique_ptr<TurnRule> make_met_rule(double weight);
std::unique_ptr<TurnRule> make_random_rule(std::uint64_t seed);
std::unique_ptr<TurnRule> make_fifo_rule();
std::unique_ptr<TurnRule> make_dedicated_rule(int inference_gpus);
std::unique_ptr<TurnRule> make_single_rule(bool least_laxity, bool fastest);

// CEDF's class of a job, from 1 (gains most from large slices) to 4: 1 if thr(4) < 0.8 thr(7); else 2 if thr(2) < 0.8
// thr(7); else 3 if thr(1) < 0.8 thr(7); else 4. On models of other sizes, the same ladder over the plain sizes 4, 2, 1
// below the whole GPU; in a mixed fleet the first model decides. A size that the job cannot use counts as throughput 0.
class CedfClasses {
 public:
  explicit CedfClasses(const Platform& platform);
  int of(const JobTable& jobs, JobId job) const;

 private:
  TypeId whole_ = kNoType;
  std::vector<TypeId> ladder_;
};

}  // namespace smartmig
