#include "cli/simulate/recorded_run.h"

#include <fmt/format.h>

#include "eval/guard.h"

namespace smartmig::cli {

Result<std::unique_ptr<RecordedRun>> run_recorded(const Setting& setting, const Contender& contender,
                                                  std::shared_ptr<const JobTable> jobs, bool keep_journal,
                                                  const std::function<void(double)>& progress) {
  PolicyOptions options = contender.options;
  options.rule.a = setting.a;
  options.rule.w = per_job_weight(setting, jobs->workload());
  SMARTMIG_TRY(NamedPolicy named, make_any_policy(contender.policy, options, setting.cost, setting.platform));
  SMARTMIG_TRY(const auto initial, initial_layouts(*setting.platform, named.initial));
  MemoryJournal journal;
  SMARTMIG_TRY(SimResult result, simulate({setting.platform, jobs, setting.cost, initial, setting.a}, *named.policy,
                                          keep_journal ? &journal : nullptr, progress));

  auto run = std::make_unique<RecordedRun>(RecordedRun{named.layouts, std::move(journal), std::move(result), {}});
  const Workload& workload = jobs->workload();
  RunRecord& record = run->record;
  record.platform = setting.platform;
  record.jobs = jobs;
  record.cost = setting.cost;
  record.initial = initial;
  record.events = keep_journal ? &run->journal.events() : nullptr;
  record.final = &run->result.final;
  record.summary = run->result.summary;
  record.config = {{"policy", contender.policy},
                   {"layouts", named.layouts},
                   {"policy_seed", fmt::format("{}", options.rule.seed)},
                   {"workload", workload.source},
                   {"workload_seed", fmt::format("{}", workload.seed)},
                   {"workload_hash", fmt::format("{:016x}", hash_of(workload))}};
  record.version = SMARTMIG_VERSION;
  record.wall_s = run->result.wall_s;
  return run;
}

}  // namespace smartmig::cli
