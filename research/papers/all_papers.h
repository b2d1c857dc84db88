// Every figure and table of the three papers, printed against measured, each with its mark (paper_marks.h). It combines
// the parts of the experiments that `reproduce a`, `a-fig11`, `b`, `c` and `memory` run with the results that have no
// experiment, and their reasons. Finished parts are kept, so a stopped run can continue.
#pragma once
#include <functional>
#include <string>

#include "research/papers/migm_experiment.h"
#include "research/papers/one_gpu.h"
#include "research/papers/smart_mig.h"
#include "research/papers/smart_mig_fig11.h"

namespace smartmig {

struct AllPapersOptions {
  SmartMigOptions a;
  Fig11Options fig11;
  OneGpuOptions b;
  MigmOptions c;
  std::int64_t memory_cases = 60;
  std::string keep;     // directory for results of parts; empty: keeps none
  std::string program;  // a text that changes with the program's code
};

struct FinishedPart {
  std::string name;
  std::size_t number = 0, of = 0;  // from 1
  bool kept = false;               // found in the directory, not run
  double seconds = 0;
};
using FinishedTold = std::function<void(const FinishedPart&)>;

// Reduces the experiments to a test's size: two days, few jobs.
void make_small(AllPapersOptions& options);
Result<PaperReport> all_papers_report(const AllPapersOptions& options, const PaperProgress& progress,
                                      const FinishedTold& told);

}  // namespace smartmig
