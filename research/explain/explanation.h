// Writes an explanation (explain/explain.h) as text, JSON and page.
#pragma once
#include <string>
#include <vector>

#include "research/explain/explain.h"

namespace smartmig::cli {

struct ExplainedRun {  // the run to which the figures belong
  std::string workload, gpus, cost;
  double a = 0;
  std::vector<std::uint64_t> seeds, fit_seeds;
};

std::string explanation_text(const ExplainedRun& run, const Explanation& e);
std::string explanation_json(const ExplainedRun& run, const Explanation& e);
std::string explanation_page(const ExplainedRun& run, const Explanation& e);

}  // namespace smartmig::cli
