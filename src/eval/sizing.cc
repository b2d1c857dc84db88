#include "eval/sizing.h"

#include <algorithm>

#include "sim/peak_load.h"

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

namespace {

Result<SizeRow> size_row(const SizingQuestion& question, int gpus,
                         const std::vector<std::shared_ptr<const Workload>>& workloads) {
  SMARTMIG_TRY(Platform platform, Platform::parse(fmt::format("{}x{}", gpus, question.model), question.power));
  const Setting setting{std::make_shared<Platform>(std::move(platform)),
                        question.workload,
                        question.cost,
                        question.a,
                        question.load,
                        nullptr};
  const std::size_t days = workloads.size();
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
  for (std::size_t d = 0; d < days; ++d) {
    if (!*results[d]) return results[d]->error();
    const Summary& s = **results[d];
    const double share = 1 / double(days);
    row.energy_wmin += s.energy_wmin * share;
    row.energy_kwh += s.energy_kwh * share;
    row.tardiness_min += s.mean_tardiness_min * share;
    row.late_percent += 100 * double(s.late_jobs) / double(s.jobs) * share;
    row.utilisation += s.utilisation * share;
    row.a_eff = s.a_eff;
    row.et_eff += s.et_sum * share;
    if (question.prices)
      row.cost += share * (question.prices->gpu_hour * gpus * 24 * workloads[d]->days +
                           question.prices->others.cost(s.energy_joules, 60 * s.mean_tardiness_min * double(s.jobs)));
  }
  return row;
}

const SizeRow& cheapest(const std::vector<SizeRow>& rows) {
  return *std::min_element(rows.begin(), rows.end(),
                           [](const SizeRow& a, const SizeRow& b) { return a.cost < b.cost; });
}

// Whether a larger fleet can change neither the answer nor the shown curve.
bool decided(const SizingQuestion& question, const std::vector<SizeRow>& rows) {
  const SizeRow& last = rows.back();
  if (rows.size() < 3) return false;
  switch (question.target.of) {
    case SizingTarget::Of::kTardiness: {
      // Stops once two sizes in a row meet the target.
      return last.tardiness_min <= question.target.tardiness_min &&
             rows[rows.size() - 2].tardiness_min <= question.target.tardiness_min;
    }
    case SizingTarget::Of::kUtilisation:
      return last.utilisation < question.target.utilisation &&
             rows[rows.size() - 2].utilisation < question.target.utilisation;
    default:
      return last.gpus >= cheapest(rows).gpus + 3;
  }
}

void answer_target(const SizingQuestion& question, SizingAnswer& answer) {
  const SizeRow& last = answer.rows.back();
  switch (question.target.of) {
    case SizingTarget::Of::kTardiness:
      for (const SizeRow& row : answer.rows)
        if (!answer.needed && row.tardiness_min <= question.target.tardiness_min) answer.needed = row.gpus;
      answer.rule = answer.needed
                        ? fmt::format("{} GPUs: the first number with a mean tardiness of at most {} min",
                                      *answer.needed, question.target.tardiness_min)
                        : fmt::format(
                              "even {} GPUs do not bring the mean tardiness to {} min (it is {:.4g} min); try "
                              "--max-gpus or another policy",
                              last.gpus, question.target.tardiness_min, last.tardiness_min);
      return;
    case SizingTarget::Of::kUtilisation:
      for (const SizeRow& row : answer.rows)
        if (row.utilisation >= question.target.utilisation) answer.needed = row.gpus;
      answer.rule =
          answer.needed
              ? fmt::format("{} GPUs: the most that are busy {:g} % of the time; their mean tardiness is {:.4g} min",
                            *answer.needed, 100 * question.target.utilisation,
                            answer.rows[std::size_t(*answer.needed) - 1].tardiness_min)
              : fmt::format("even one GPU is not busy {:g} % of the time; it is busy {:.0f} %",
                            100 * question.target.utilisation, 100 * answer.rows.front().utilisation);
      return;
    default: {
      const SizeRow& best = cheapest(answer.rows);
      if (best.gpus < last.gpus || question.max_gpus == 1) answer.needed = best.gpus;
      answer.rule = answer.needed
                        ? fmt::format("{} GPUs are cheapest: {:.2f}, with a mean tardiness of {:.4g} min", best.gpus,
                                      best.cost, best.tardiness_min)
                        : fmt::format("the cost still falls at {} GPUs ({:.2f}); try --max-gpus", last.gpus, last.cost);
    }
  }
}

}  // namespace

Result<SizingAnswer> find_size(const SizingQuestion& question, const std::function<void(double)>& progress) {
  if (question.target.of == SizingTarget::Of::kPrice && !question.prices)
    return invalid("the cheapest fleet cannot be found without prices");
  const bool generated = is_workload_spec(question.workload);
  SizingAnswer answer;
  std::vector<std::shared_ptr<const Workload>> workloads;
  for (std::size_t d = 0; d < (generated ? question.seeds.size() : 1); ++d) {
    LoadOptions load = question.load;
    if (generated) load.seed = question.seeds[d];
    SMARTMIG_TRY(Workload workload, load_workload(question.workload, load));
    if (workload.jobs.empty()) return invalid("{} has no jobs", question.workload);
    answer.peak_gpus = std::max(answer.peak_gpus, peak_gpus(workload));
    workloads.push_back(std::make_shared<Workload>(std::move(workload)));
  }
  for (int gpus = 1; gpus <= question.max_gpus; ++gpus) {
    SMARTMIG_TRY(const SizeRow row, size_row(question, gpus, workloads));
    answer.rows.push_back(row);
    if (progress) progress(double(gpus) / question.max_gpus);
    if (decided(question, answer.rows)) break;
  }
  answer.knee = knee_of(answer.rows);
  answer_target(question, answer);
  return answer;
}

}  // namespace smartmig
