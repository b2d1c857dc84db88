// Every figure and table of the three papers, printed beside measured, each with its mark (paper_marks.h): the parts of the
// experiments that `reproduce a`, `a-fig11`, `b`, `c` and `memory` run, and what of the papers has no experiment, with the
// reason. Finished parts are kept, so that a run that was stopped goes on.
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
  std::string keep;     // directory for results of parts; empty: none is kept
  std::string program;  // words that change with the program's code
};

struct FinishedPart {
  std::string name;
  std::size_t number = 0, of = 0;  // from 1
  bool kept = false;               // found, not run
  double seconds = 0;
};
using FinishedTold = std::function<void(const FinishedPart&)>;

// Small enough for a test: two days, few jobs.
void make_small(AllPapersOptions& options);
Result<PaperReport> all_papers_report(const AllPapersOptions& options, const PaperProgress& progress,
                                      const FinishedTold& told);

}  // namespace smartmig
