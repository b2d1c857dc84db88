// A certificate of a lower bound, as JSON: everything that is needed, besides the workload, to recompute it.
//   {"format": "smartmig-bound", "version": 2, "world": "free", "objective": "et", "a": 2e-07, "bound": 0.9,
//    "gpus": "8xa100-40gb", "power": "auto", "power_models": ["paper"], "jobs": 4147,
//    "workload_hash": "0123456789abcdef", "workload": "...", "share": 1,
//    "classes": ["a100-40gb/1", ...], "edges_us": [0, ...], "prices": [[...], ...]}
// prices[w][k] >= 0: cost per minute of a slice of class k in window w = [edges_us[w], edges_us[w + 1]); the last row
// is for the tail after the last edge. "own": [[job, first window, [price, ...]], ...] (optional) are prices of single
// jobs in the windows from that one on, "ends": [[job, price], ...] (optional) prices of their ends (own_prices.h).
// Units of cost: see lagrangian_problem.h. `bound` is the checker's value for exactly these numbers: watt-minutes for
// energy, minutes for tardiness, a e + t for et.
#pragma once
#include <string>

#include "bound/lagrangian.h"

namespace smartmig {

struct Certificate {
  Objective objective = Objective::kEt;
  BoundWorld world = BoundWorld::kFree;  // version 1 had only this one
  double a = 0, bound = 0, share = 1;
  std::string gpus, power;
  std::vector<std::string> power_models;  // the meaning of `power`, one per GPU model
  std::uint64_t jobs = 0, workload_hash = 0;
  std::string workload;              // its source, for people
  std::vector<std::string> classes;  // MODEL/COMPUTE_SLICES, in the order of the prices
  Prices prices;
};

// A text that reads back to the same numbers.
std::string certificate_json(const Certificate& certificate);
// Refuses malformed, foreign and out-of-range input. Every error names the file and the field.
Result<Certificate> parse_certificate(const std::string& name, std::string_view text);

std::vector<std::string> class_names(const Platform& platform, const std::vector<SliceClass>& classes);

}  // namespace smartmig
