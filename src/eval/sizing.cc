#include "eval/sizing.h"

#include <atomic>

#include "eval/statistics.h"

namespace smartmig {

int knee_of(const std::vector<SizeRow>& rows) {
  const SizeRow &first = rows.front(), &last = rows.back();
  const double span = last.gpus - first.gpus, drop = first.tardiness_min - last.tardiness_min;
  int knee = first.gpus;
  double farthest = 0;
  for (const SizeRow& row : rows) {
    if (span <= 0 || drop <= 0) break;
    const double below = 1 - (row.gpus - first.gpus) / span - (row.tardiness_min - last.tardiness_min) / drop;
    if (below > farthest) {
      farthest = below;
      knee = row.gpus;
    }
  }
  return knee;
}

Result<SizingAnswer> find_size(const SizingQuestion& question, const std::function<void(double)>& progress) {
  const bool generated = is_workload_spec(question.workload);
  const std::size_t days = generated ? question.seeds.size() : 1;
  std::vector<std::shared_ptr<const Workload>> workloads;
  for (std::size_t d = 0; d < days; ++d) {
    LoadOptions load = question.load;
    if (generated) load.seed = question.seeds[d];
    SMARTMIG_TRY(Workload workload, load_workload(question.workload, load));
    if (workload.jobs.empty()) return invalid("{} has no jobs", question.workload);
    workloads.push_back(std::make_shared<Workload>(std::move(workload)));
  }

  SizingAnswer answer;
  for (int gpus = 1; gpus <= question.max_gpus; ++gpus) {
    SMARTMIG_TRY(Platform platform, Platform::parse(fmt::format("{}x{}", gpus, question.model), question.power));
    const Setting setting{std::make_shared<Platform>(std::move(platform)), question.workload, question.cost, question.a,
                          question.load};
    std::vector<std::optional<Result<Summary>>> results(days);
    run_parallel(days, question.threads, [&](std::size_t d) {
      auto jobs = JobTable::bind(workloads[d], *setting.platform);
      if (!jobs)
        results[d] = Result<Summary>(jobs.error());
      else
        results[d] = run_day(setting, question.contender, {0, std::make_shared<JobTable>(std::move(*jobs))});
    });
    SizeRow row;
    row.gpus = gpus;
    for (const auto& result : results) {
      if (!*result) return result->error();
      const Summary& s = **result;
      row.energy_wmin += s.energy_wmin / double(days);
      row.energy_kwh += s.energy_kwh / double(days);
      row.tardiness_min += s.mean_tardiness_min / double(days);
      row.late_percent += 100 * double(s.late_jobs) / double(s.jobs) / double(days);
      row.utilisation += s.utilisation / double(days);
      row.a_eff = s.a_eff;
      row.et_eff += s.et_sum / double(days);
    }
    answer.rows.push_back(row);
    if (progress) progress(double(gpus) / question.max_gpus);
    // Enough has been seen when two sizes in a row have less than a hundredth of one GPU's tardiness, and the target is
    // met.
    const double little = 0.01 * answer.rows.front().tardiness_min;
    if (gpus >= 3 && row.tardiness_min <= little && answer.rows[std::size_t(gpus) - 2].tardiness_min <= little &&
        (question.target_tardiness_min < 0 || row.tardiness_min <= question.target_tardiness_min))
      break;
  }
  answer.knee = knee_of(answer.rows);
  if (question.target_tardiness_min < 0) {
    answer.needed = answer.knee;
    answer.rule = fmt::format("{} GPUs: the knee of the curve; more of them buy little", answer.knee);
    if (answer.knee == 1) answer.rule = "1 GPU is enough: more of them buy nothing";
    return answer;
  }
  for (const SizeRow& row : answer.rows)
    if (row.tardiness_min <= question.target_tardiness_min) {
      answer.needed = row.gpus;
      answer.rule = fmt::format("{} GPUs: the first number with a mean tardiness of at most {} min", row.gpus,
                                question.target_tardiness_min);
      return answer;
    }
  answer.rule =
      fmt::format("not even {} GPUs bring the mean tardiness down to {} min; try --max-gpus or another policy",
                  answer.rows.back().gpus, question.target_tardiness_min);
  return answer;
}

}  // namespace smartmig
