#include "sim/fixed_workload.h"

#include "sim/arrivals.h"
#include "sim/kind_curve.h"
#include "sim/paper_workload.h"

namespace smartmig {

Result<Workload> fixed_workload(const WorkloadSpec& spec) {
  Workload workload;
  workload.source = to_string(spec);
  workload.generated = true;
  workload.seed = spec.seed;
  std::vector<KindCurve> curves;
  for (const char* kind : {"linear", "sublinear", "capped"})
    if (spec.mix == "mixed" || spec.mix == kind) curves.push_back(curve_of(kind, "a100-40gb"));
  for (const KindCurve& curve : curves) workload.kinds.push_back(curve.kind);
  const std::vector<Time> submits = arrivals(spec);
  workload.jobs.resize(submits.size());
  for (std::size_t i = 0; i < submits.size(); ++i) {
    Job& job = workload.jobs[i];
    Rng rng = job_stream(spec.seed, i);
    const double slack = rng.uniform(spec.slack.low, spec.slack.high);
    const bool training = draw_training(rng);
    job.kind = int(rng.below(curves.size()));
    const KindCurve& curve = curves[std::size_t(job.kind)];
    const double seconds_1g = 60 * draw_minutes_1g(rng, training);
    curve.set_work(job, 1, seconds_1g);
    job.submit = submits[i];
    job.deadline = job.submit + from_seconds(slack * seconds_1g * curve.throughput[0] / curve.throughput[6]);
  }
  workload.rules = {
      arrivals_in_words(spec),
      fmt::format("speed curves of SMART-MIG's Fig 3: {}",
                  spec.mix == "mixed" ? "linear, sublinear and capped with equal chance" : spec.mix),
      "time on a 1g slice: 80 % exponential with mean 3 min; 20 % lognormal with 5 % under 40 and 5 % over 60 min",
      fmt::format("deadlines: submit + U({}, {}) * time on the whole GPU", spec.slack.low, spec.slack.high),
      "no restart cost is known for these kinds: never preempted under hardware costs"};
  const double days = days_of(spec);
  return finish_workload(std::move(workload), days > 0 ? std::optional(days) : std::nullopt);
}

}  // namespace smartmig
