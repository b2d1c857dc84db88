#include "sim/drawn_workloads.h"

#include "base/math.h"
#include "base/rng.h"
#include "sim/arrivals.h"
#include "sim/kind_curve.h"

namespace smartmig {
namespace {

bool draw_training(Rng& rng) { return rng.uniform() >= 0.8; }

double draw_minutes_1g(Rng& rng, bool training) {
  static const double log40 = deterministic_log(40), log60 = deterministic_log(60);
  if (training) return rng.lognormal((log40 + log60) / 2, (log60 - log40) / (2 * 1.645));
  return rng.exponential(3);
}

// `draw` fills the job at a submit time, given its random stream and the slack of its deadline.
template <class Draw>
Result<Workload> drawn(const WorkloadSpec& spec, Workload workload, const Draw& draw) {
  workload.source = to_string(spec);
  workload.generated = true;
  workload.seed = spec.seed;
  const std::vector<Time> submits = arrivals(spec);
  workload.jobs.resize(submits.size());
  for (std::size_t i = 0; i < submits.size(); ++i) {
    Rng rng = job_stream(spec.seed, i);
    workload.jobs[i].submit = submits[i];
    const double slack = rng.uniform(spec.slack.low, spec.slack.high);
    draw(workload.jobs[i], rng, slack);
  }
  workload.rules.insert(workload.rules.begin(), arrivals_in_words(spec));
  const double days = days_of(spec);
  return finish_workload(std::move(workload), days > 0 ? std::optional(days) : std::nullopt);
}

void set_time_1g(Job& job, const KindCurve& curve, double seconds_1g, double slack) {
  curve.set_work(job, 1, seconds_1g);
  job.deadline = job.submit + from_seconds(slack * seconds_1g * curve.throughput[0] / curve.throughput[6]);
}

std::string deadlines_in_words(const WorkloadSpec& spec) {
  return fmt::format("deadlines: submit + U({}, {}) * time on the whole GPU", spec.slack.low, spec.slack.high);
}

}  // namespace

Result<Workload> paper_workload(const WorkloadSpec& spec) {
  const KindCurve curves[] = {curve_of("bert-infer", "a100-40gb"), curve_of("resnet50-infer", "a100-40gb"),
                              curve_of("bert-train", "a100-40gb"), curve_of("resnet50-train", "a100-40gb")};
  Workload workload;
  for (const KindCurve& curve : curves) workload.kinds.push_back(curve.kind);
  workload.rules = {
      "80 % inference, time on a 1g slice exponential with mean 3 min; 20 % training, lognormal with 5 % under 40 and "
      "5 % over 60 min; "
      "in both 2/3 BERT, 1/3 ResNet-50 (SMART-MIG's simulation)",
      deadlines_in_words(spec),
      "restart after a preemption: training as in data/restart.csv, inference is never preempted under hardware costs"};
  return drawn(spec, std::move(workload), [&](Job& job, Rng& rng, double slack) {
    const bool training = draw_training(rng);
    const bool resnet = rng.uniform() * 3 >= 2;
    job.kind = training * 2 + resnet;
    const KindCurve& curve = curves[job.kind];
    set_time_1g(job, curve, 60 * draw_minutes_1g(rng, training), slack);
    job.restart = curve.restart;
  });
}

Result<Workload> fixed_workload(const WorkloadSpec& spec) {
  std::vector<KindCurve> curves;
  for (const char* kind : {"linear", "sublinear", "capped"})
    if (spec.mix == "mixed" || spec.mix == kind) curves.push_back(curve_of(kind, "a100-40gb"));
  Workload workload;
  for (const KindCurve& curve : curves) workload.kinds.push_back(curve.kind);
  workload.rules = {
      fmt::format("speed curves of SMART-MIG's Fig 3: {}",
                  spec.mix == "mixed" ? "linear, sublinear and capped with equal chance" : spec.mix),
      "time on a 1g slice: 80 % exponential with mean 3 min; 20 % lognormal with 5 % under 40 and 5 % over 60 min",
      deadlines_in_words(spec), "no restart cost is known for these kinds: never preempted under hardware costs"};
  return drawn(spec, std::move(workload), [&](Job& job, Rng& rng, double slack) {
    const bool training = draw_training(rng);
    job.kind = int(rng.below(curves.size()));
    set_time_1g(job, curves[std::size_t(job.kind)], 60 * draw_minutes_1g(rng, training), slack);
  });
}

Result<Workload> curve_workload(const WorkloadSpec& spec) {
  const bool training = spec.family == WorkloadSpec::Family::kMiso;
  Workload workload;
  workload.reference_gpu = training ? "a100-40gb" : "a100-80gb";
  workload.kinds = SpeedTable::builtin().kinds(training ? "MISO" : "ParvaGPU");
  std::vector<KindCurve> curves;
  for (const std::string& kind : workload.kinds) curves.push_back(curve_of(kind, workload.reference_gpu));
  workload.rules = {
      fmt::format("kinds: the {} {} kinds of data/speeds.csv with equal chance; sizes without a measurement are closed",
                  curves.size(), training ? "MISO training" : "ParvaGPU inference"),
      training
          ? "time on the whole GPU: a seventh of a lognormal with 5 % under 40 and 5 % over 60 min (the paper's "
            "training class on 1g)"
          : "time on the whole GPU: a seventh of an exponential with mean 3 min (the paper's inference class on 1g)",
      deadlines_in_words(spec),
      training ? "restart after a preemption: data/restart.csv" : "inference is never preempted under hardware costs"};
  return drawn(spec, std::move(workload), [&](Job& job, Rng& rng, double slack) {
    job.kind = int(rng.below(curves.size()));
    const KindCurve& curve = curves[std::size_t(job.kind)];
    const double whole = 60 * draw_minutes_1g(rng, training) / 7;
    curve.set_work(job, curve.largest, whole);
    job.deadline = job.submit + from_seconds(slack * whole);
    job.mem_mib = curve.mem_mib;
    job.restart = curve.restart;
  });
}

}  // namespace smartmig
