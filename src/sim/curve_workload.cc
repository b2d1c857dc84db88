#include "sim/curve_workload.h"

#include "sim/arrivals.h"
#include "sim/kind_curve.h"
#include "sim/paper_workload.h"

namespace smartmig {

Result<Workload> curve_workload(const WorkloadSpec& spec) {
  const bool training = spec.family == WorkloadSpec::Family::kMiso;
  Workload workload;
  workload.source = to_string(spec);
  workload.generated = true;
  workload.seed = spec.seed;
  workload.reference_gpu = training ? "a100-40gb" : "a100-80gb";
  workload.kinds = SpeedTable::builtin().kinds(training ? "MISO" : "ParvaGPU");
  std::vector<KindCurve> curves;
  for (const std::string& kind : workload.kinds) curves.push_back(curve_of(kind, workload.reference_gpu));
  const std::vector<Time> submits = arrivals(spec);
  workload.jobs.resize(submits.size());
  for (std::size_t i = 0; i < submits.size(); ++i) {
    Job& job = workload.jobs[i];
    Rng rng = job_stream(spec.seed, i);
    const double slack = rng.uniform(spec.slack.low, spec.slack.high);
    job.kind = int(rng.below(curves.size()));
    const KindCurve& curve = curves[std::size_t(job.kind)];
    const double whole = 60 * draw_minutes_1g(rng, training) / 7;
    curve.set_work(job, curve.largest, whole);
    job.submit = submits[i];
    job.deadline = job.submit + from_seconds(slack * whole);
    job.mem_mib = curve.mem_mib;
    job.restart = curve.restart;
  }
  workload.rules = {
      arrivals_in_words(spec),
      fmt::format("kinds: the {} {} kinds of data/speeds.csv with equal chance; sizes without a measurement are closed",
                  curves.size(), training ? "MISO training" : "ParvaGPU inference"),
      training
          ? "time on the whole GPU: a seventh of a lognormal with 5 % under 40 and 5 % over 60 min (the paper's "
            "training class on 1g)"
          : "time on the whole GPU: a seventh of an exponential with mean 3 min (the paper's inference class on 1g)",
      fmt::format("deadlines: submit + U({}, {}) * time on the whole GPU", spec.slack.low, spec.slack.high),
      training ? "restart after a preemption: data/restart.csv" : "inference is never preempted under hardware costs"};
  const double days = days_of(spec);
  return finish_workload(std::move(workload), days > 0 ? std::optional(days) : std::nullopt);
}

}  // namespace smartmig
