#include "cli/simulate/recorded_run.h"

#include <fmt/format.h>

namespace smartmig::cli {

Result<std::unique_ptr<RecordedRun>> run_recorded(const Setting& setting, const Contender& contender,
                                                  std::shared_ptr<const JobTable> jobs, bool keep_journal,
                                                  const std::function<void(double)>& progress) {
  MemoryJournal journal;
  SMARTMIG_TRY(DayRun day, simulate_day(setting, contender, jobs, keep_journal ? &journal : nullptr, progress));
  auto run = std::make_unique<RecordedRun>(RecordedRun{day.layouts, std::move(journal), std::move(day.result), {}});
  const Workload& workload = jobs->workload();
  RunRecord& record = run->record;
  record.platform = setting.platform;
  record.jobs = jobs;
  record.cost = setting.cost;
  record.initial = std::move(day.initial);
  record.events = keep_journal ? &run->journal.events() : nullptr;
  record.final = &run->result.final;
  record.summary = run->result.summary;
  record.config = {{"policy", contender.policy},
                   {"layouts", run->layouts},
                   {"policy_seed", fmt::format("{}", contender.options.rule.seed)},
                   {"workload", workload.source},
                   {"workload_seed", fmt::format("{}", workload.seed)},
                   {"workload_hash", fmt::format("{:016x}", hash_of(workload))}};
  record.version = SMARTMIG_VERSION;
  record.wall_s = run->result.wall_s;
  return run;
}

}  // namespace smartmig::cli
