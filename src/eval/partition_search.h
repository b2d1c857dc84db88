// Finds a static partition, or two per day with their switch hours, for a placer on training days. It is a local search
// over how many GPUs have each shape. A step moves some GPUs of one model from one shape to another (large steps
// first), or changes one switch hour. It is kept if the mean ET over the training days falls. Starts are the paper's
// static layout and every shape alone; the search climbs from the best few. Deterministic: the same seeds give the same
// partition for any number of threads.
#pragma once
#include <functional>

#include "eval/experiment.h"
#include "policy/layouts/layout_file.h"

namespace smartmig {

struct SearchOptions {
  std::string placer = "cedf";
  bool twice = false;
  bool paper_shapes_only = true;     // the papers' twelve if the model has them, else (or if false) all maximal
  std::vector<std::uint64_t> seeds;  // or windows of a file
  int threads = 1;
  std::size_t max_evaluations = 2000;
};

struct SearchOutcome {
  LayoutFile layouts;
  std::size_t evaluations = 0;
  double start_et = 0;  // of the best starting point
};

// `tell` receives (evaluations so far, best ET so far).
Result<SearchOutcome> search_partition(const Setting& setting, const SearchOptions& options,
                                       const std::function<void(std::size_t, double)>& tell = {});

}  // namespace smartmig
