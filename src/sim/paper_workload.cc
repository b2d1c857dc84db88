#include "sim/paper_workload.h"

#include "base/math.h"
#include "sim/arrivals.h"
#include "sim/kind_curve.h"

namespace smartmig {

bool draw_training(Rng& rng) { return rng.uniform() >= 0.8; }

double draw_minutes_1g(Rng& rng, bool training) {
  static const double log40 = deterministic_log(40), log60 = deterministic_log(60);
  if (training) return rng.lognormal((log40 + log60) / 2, (log60 - log40) / (2 * 1.645));
  return rng.exponential(3);
}

Result<Workload> paper_workload(const WorkloadSpec& spec) {
  Workload workload;
  workload.source = to_string(spec);
  workload.generated = true;
  workload.seed = spec.seed;
  const KindCurve curves[] = {curve_of("bert-infer", "a100-40gb"), curve_of("resnet50-infer", "a100-40gb"),
                              curve_of("bert-train", "a100-40gb"), curve_of("resnet50-train", "a100-40gb")};
  for (const KindCurve& curve : curves) workload.kinds.push_back(curve.kind);
  const std::vector<Time> submits = arrivals(spec);
  workload.jobs.resize(submits.size());
  for (std::size_t i = 0; i < submits.size(); ++i) {
    Job& job = workload.jobs[i];
    Rng rng = job_stream(spec.seed, i);
    const double slack = rng.uniform(spec.slack.low, spec.slack.high);
    const bool training = draw_training(rng);
    const bool resnet = rng.uniform() * 3 >= 2;
    job.kind = training * 2 + resnet;
    const KindCurve& curve = curves[job.kind];
    const double seconds_1g = 60 * draw_minutes_1g(rng, training);
    curve.set_work(job, 1, seconds_1g);
    job.submit = submits[i];
    job.deadline = job.submit + from_seconds(slack * seconds_1g * curve.throughput[0] / curve.throughput[6]);
    job.restart = curve.restart;
  }
  workload.rules = {
      arrivals_in_words(spec),
      "80 % inference, time on a 1g slice exponential with mean 3 min; 20 % training, lognormal with 5 % under 40 and "
      "5 % over 60 min; "
      "in both 2/3 BERT, 1/3 ResNet-50 (SMART-MIG's simulation)",
      fmt::format("deadlines: submit + U({}, {}) * time on the whole GPU", spec.slack.low, spec.slack.high),
      "restart after a preemption: training as in data/restart.csv, inference is never preempted under hardware costs"};
  const double days = days_of(spec);
  return finish_workload(std::move(workload), days > 0 ? std::optional(days) : std::nullopt);
}

}  // namespace smartmig
