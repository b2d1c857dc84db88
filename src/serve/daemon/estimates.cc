#include "serve/daemon/estimates.h"

#include <algorithm>

namespace smartmig {
namespace {

std::string signature(const JobRecord& job) { return signature_of(job.spec.command, job.spec.script); }

}  // namespace

void Estimates::estimate(JobRecord& job) {
  const JobSpec& spec = job.spec;
  const Belief& belief = session_.belief();
  const Forecast known = history_.forecast(signature(job));
  if (spec.estimate) {
    job.work.estimate = *spec.estimate;
    job.work.source = EstimateSource::kGiven;
    if (spec.estimate_slices > 0) {  // from that size to the whole GPU, by the job's own curve
      JobRecord unit = job;
      unit.work.estimate = std::chrono::hours(1);
      const Time there = belief.time_on(unit, spec.estimate_slices);
      if (there > Time{0}) job.work.estimate = rounded(double(spec.estimate->count()) * 3600e6 / double(there.count()));
    }
  } else if (known.whole_s) {
    job.work.estimate = from_seconds(*known.whole_s);
    job.work.source = EstimateSource::kHistory;
  } else {
    job.work.estimate =
        spec.time_limit ? std::min(*spec.time_limit, settings_.defaults.estimate) : settings_.defaults.estimate;
    job.work.source = EstimateSource::kGuess;
  }
  if (job.memory.mib < 0) {
    job.memory.mib = known.mem_mib.value_or(settings_.defaults.mem_mib);
    // What was learned must not keep a job out for ever: the largest slice is the most that can be asked for.
    if (job.memory.mib > 0) job.memory.mib = std::min(job.memory.mib, belief.largest_memory_mib());
  }
}

double Estimates::sigma_of(const JobRecord& job) {
  return job.work.source == EstimateSource::kGuess ? 1.0 : history_.forecast(signature(job)).sigma;
}

void Estimates::learn_from(const JobRecord& job) {
  if (job.times.started == kNotYet || job.counts.preempted > 0 || job.counts.suspended > 0) return;
  // Its time on the whole GPU follows from its time here by the curve that it was placed by.
  const JobId row = session_.belief().row(job.id);
  if (row == kNoJob || session_.cluster().state(row).type == kNoType) return;
  const Time here = session_.belief().table()->work(row, session_.cluster().state(row).type);
  if (here <= Time{0}) return;
  PastRun run;
  run.ran_s = seconds(job.times.ended - job.times.started) + job.ahead.hidden_s;
  run.whole_over_slice = double(job.work.estimate.count()) * job.work.remaining / double(here.count());
  run.peak_mib = job.memory.peak_mib;
  history_.add(signature(job), run);
}

void Estimates::ran_out(const JobRecord& job, int had_mib) {
  PastRun run;
  run.peak_mib = job.memory.peak_mib;
  run.out_of_memory_mib = had_mib;
  history_.add(signature(job), run);
}

}  // namespace smartmig
