// One simulated run with all data that its outputs need.
#pragma once
#include <functional>
#include <memory>

#include "eval/experiment.h"
#include "report/run_record.h"
#include "sim/simulate.h"

namespace smartmig::cli {

struct RecordedRun {
  std::string layouts;    // at time 0, in words
  MemoryJournal journal;  // empty if it was not kept
  SimResult result;
  RunRecord record;  // points into the two above, so the whole is handed out by pointer and stays put
};

Result<std::unique_ptr<RecordedRun>> run_recorded(const Setting& setting, const Contender& contender,
                                                  std::shared_ptr<const JobTable> jobs, bool keep_journal,
                                                  const std::function<void(double)>& progress = {});

}  // namespace smartmig::cli
