#include "queue/learning/estimates.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"

namespace smartmig {
namespace {

constexpr double kAnotherTime = 0.02, kAnotherToldTime = 0.33;  // less is not worth a new row of the belief
constexpr double kAnotherSpread = 0.5, kLeastSpread = 0.02;
constexpr double kInterval80 = 1.2816;  // standard deviations on either side

CommandKey job_key(const JobRecord& job) {
  const std::vector<std::string> command = shown_command(job.spec.command);  // as the book keeps it
  return job.spec.script.empty() ? key_of(command, job.launch.script) : key_of(command, job.spec.script);
}

// The estimate, on the whole GPU, of a job that takes `told` on so many slices, by the job's own curve. A launch is the same on
// every size, so time there is a straight line of the estimate, not a multiple; below the launch of its kind it is one.
Time whole_gpu_time(const Belief& belief, JobRecord job, Time told, int slices) {
  const auto there = [&](Time whole) {
    job.work.estimate = whole;
    return belief.time_on(job, slices);
  };
  const Time hour = std::chrono::hours(1), at_one = there(hour), more = there(2 * hour) - at_one;
  if (at_one <= Time{0} || more <= Time{0}) return told;
  const Time straight = hour - rounded(double((at_one - told).count()) * double(hour.count()) / double(more.count()));
  constexpr double kSame = 0.001;
  if (straight > Time{0} && std::abs(double((there(straight) - told).count())) <= kSame * double(told.count()))
    return straight;
  return rounded(double(told.count()) * double(hour.count()) / double(at_one.count()));
}

// Of two views of one job, each by its precision. REQUIRES: spreads above 0.
BelievedTime mixed(const BelievedTime& a, const BelievedTime& b) {
  const double of_a = 1 / (a.spread * a.spread), of_b = 1 / (b.spread * b.spread);
  return {(of_a * a.log_median + of_b * b.log_median) / (of_a + of_b), std::min(a.spread, b.spread)};
}

// Three quarters of a factor of 2 and more are as bad as any: what is above the last bound is a guess.
MetricsHistogram error_histogram() { return MetricsHistogram({0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.1, 2.3}); }

}  // namespace

ForecastQuestion Estimates::question(std::string_view kind) const {
  return {session_.platform().models()[0].gpu->compute_slices(), kind};
}

Forecast Estimates::forecast(const JobRecord& job) { return history_.forecast(job_key(job), question(job.spec.kind)); }

void Estimates::estimate(JobRecord& job) {
  const JobSpec& spec = job.spec;
  const Belief& belief = session_.belief();
  const Forecast known = forecast(job);
  job.work.shape = {};
  for (std::size_t k = 0; k < job.work.teaches.size(); ++k) job.work.teaches[k] = float(known.sizes[k].teaches);
  job.work.log_slowdown = known.log_slowdown;
  const bool kind_known = SpeedTable::builtin().has(spec.kind);
  if (known.whole_s && (known.runs > 0 || !kind_known))
    for (std::size_t k = 0; k < job.work.shape.size(); ++k)
      job.work.shape[k] = std::clamp(known.sizes[k].s / *known.whole_s, 0.0, 1e6);
  job.work.told = {};
  job.work.source = spec.estimate                     ? EstimateSource::kGiven
                    : known.whole_s && known.runs > 0 ? EstimateSource::kHistory
                                                      : EstimateSource::kGuess;
  if (spec.estimate) {
    job.work.told = *spec.estimate;
    if (spec.estimate_slices > 0 && spec.estimate_slices < question(spec.kind).of)
      job.work.told = whole_gpu_time(belief, job, *spec.estimate, spec.estimate_slices);
  }
  set_time(job, known);
  if (job.memory.mib < 0) {
    job.memory.mib = known.mem_mib.value_or(spec.mem_estimate_mib.value_or(settings_.defaults.mem_mib));
    // What was learned must not keep a job out for ever: the largest slice that it may have is the most to ask for.
    if (job.memory.mib > 0) job.memory.mib = std::min(job.memory.mib, belief.largest_memory_mib(spec));
  }
}

// The median and the spread. What was told is a time alone on the board, as Belief has it; history's is beside others.
void Estimates::set_time(JobRecord& job, const Forecast& known) {
  const bool told = job.work.source == EstimateSource::kGiven;
  BelievedTime time;
  if (told || !known.whole_s) time = times_.believed(job, settings_.defaults.estimate);
  const bool exact = told && settings_.defaults.exact_estimates;
  if (known.whole_s && !exact) {
    BelievedTime seen{deterministic_log(std::max(1e-6, *known.whole_s)), std::max(kLeastSpread, known.sigma)};
    const BoardSharing sharing = session_.belief().sharing();
    if (told && sharing.crowds()) seen.log_median -= known.log_slowdown * sharing.others(1, question(job.spec.kind).of);
    time = told ? mixed(time, seen) : seen;
  }
  time = times_.checked(job, time);
  job.work.estimate = std::max(Time{1}, from_seconds(std::min(kMaxSeconds, deterministic_exp(time.log_median))));
  job.work.spread = std::max(kLeastSpread, time.spread);
  if (job.spec.time_limit)  // it is stopped then
    job.work.estimate = std::min(std::max(*job.spec.time_limit, job.work.told), job.work.estimate);
  if (!exact) return;
  job.work.estimate = job.work.told;
  job.work.spread = 0;
}

bool Estimates::refresh(JobRecord& job) {
  auto before = job.work;
  const int memory = job.memory.mib;
  estimate(job);
  const double another = job.work.source == EstimateSource::kHistory ? kAnotherTime : kAnotherToldTime;
  const auto differs = [another](double a, double b) { return std::abs(a - b) > another * std::max(a, b); };
  bool other = memory != job.memory.mib || std::abs(before.log_slowdown - job.work.log_slowdown) > kAnotherTime ||
               differs(seconds(before.estimate), seconds(job.work.estimate)) ||
               std::abs(before.spread - job.work.spread) > kAnotherSpread * std::max(before.spread, job.work.spread);
  for (std::size_t k = 0; k < job.work.shape.size(); ++k) other |= differs(before.shape[k], job.work.shape[k]);
  if (other) return true;
  before.teaches = job.work.teaches;
  before.log_slowdown = job.work.log_slowdown;
  job.work = before;
  return false;
}

void Estimates::gave(QueueId job, const ForecastScores::Given& forecast) {
  scores_.gave(job, forecast);
  scores_changed_ = true;
}

void Estimates::learn_from(const JobRecord& job) {
  scores_.ended_well(job);
  scores_changed_ = true;
  if (job.times.started == kNotYet || job.counts.preempted > 0 || job.counts.suspended > 0) return;
  const JobId row = session_.belief().row(job.id);
  if (row == kNoJob || session_.cluster().state(row).type == kNoType) return;
  const TypeId type = session_.cluster().state(row).type;
  const JobTable& table = *session_.belief().table();
  const GpuModel& reference = *session_.platform().models()[0].gpu;
  PastRun run;
  run.of = reference.compute_slices();
  run.slices = std::min(session_.platform().type(type).compute_slices, run.of);
  run.ran_s = seconds(job.times.ended - job.times.started) + job.prelaunch.hidden_s;
  run.load = session_.belief().sharing().soft ? job.place.load : 0;
  run.launch_s = job.prelaunch.to_cuda_s;
  run.peak_mib = job.memory.peak_mib;
  run.ended = job.times.ended;
  // Of another model, or with more memory and SMs: what it would have been on the first model, as the table has it.
  const Time here = table.work(row, type), there = table.job(row).work_on(run.slices);
  if (here <= Time{0}) return;
  const double planned_s = seconds(here) * table.job(row).crowding.factor(run.load), took_s = std::max(run.ran_s, 1e-6);
  if (planned_s > 0) {
    const double factor = deterministic_exp(kInterval80 * job.work.spread);
    scores_.happened(ForecastScores::kRun, {planned_s / factor, planned_s, planned_s * factor}, took_s);
    errors_.try_emplace(job.work.source, error_histogram())
        .first->second.observe(std::abs(deterministic_log(took_s / planned_s)));
  }
  times_.learn(job, session_.belief(), session_.cluster(), run.ran_s, run.load, false);
  learned_.users.insert(job.owner.uid);
  if (there > Time{0}) run.ran_s *= double(there.count()) / double(here.count());
  history_.add(job_key(job), run, job.spec.kind);
  learned_.programs.insert(program_of_job(job));
  changed_ = true;
}

void Estimates::learn_cut(const JobRecord& job) {
  if (job.times.started == kNotYet || job.counts.preempted > 0 || job.counts.suspended > 0) return;
  times_.learn(job, session_.belief(), session_.cluster(), seconds(job.times.ended - job.times.started),
               session_.belief().sharing().soft ? job.place.load : 0, true);
  learned_.users.insert(job.owner.uid);
  changed_ = true;
}

void Estimates::learn_joules(const JobRecord& job) {
  if (job.status != JobStatus::kDone || job.attempt != 1 || job.energy.source == EnergySource::kModel) return;
  history_.add_joules(job_key(job).signature, job.times.ended, job.energy.joules);
  changed_ = true;
}

void Estimates::ran_out(const JobRecord& job, int had_mib) {
  PastRun run;
  run.peak_mib = job.memory.peak_mib;
  run.out_of_memory_mib = had_mib;
  history_.add(job_key(job), run, job.spec.kind);
  learned_.programs.insert(program_of_job(job));
  changed_ = true;
}

void Estimates::learn_work(const JobRecord& job, const PastWork& work) {
  history_.add_work(job_key(job).signature, work);
  changed_ = true;
}

std::vector<PastWork> Estimates::works_of(const JobRecord& job) const { return history_.works(job_key(job).signature); }

Estimates::Known Estimates::known_of(const JobRecord& job) { return known_of(job_key(job), job.spec.kind); }

Estimates::Known Estimates::known_of(CommandKey key, std::string_view kind) {
  Known out;
  out.key = std::move(key);
  out.of = question(kind).of;
  out.forecast = history_.forecast(out.key, question(kind));
  out.last = history_.last_runs(out.key.signature);
  out.shared_board = session_.belief().sharing().crowds();
  out.changes = history_.changes(out.key.signature);
  return out;
}

}  // namespace smartmig
