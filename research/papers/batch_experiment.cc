#include "research/papers/batch_experiment.h"

#include <cmath>
#include <map>

#include "base/text.h"
#include "research/papers/state_dir.h"
#include "serve/api/daemon_host.h"

namespace smartmig {
namespace {

constexpr double kPatience = 100;  // times the length of the serial batch: a longer run is stuck

// Records from outside, after each step, whose attempts are on which slices.
class Watch {
 public:
  Watch(const std::vector<BatchJob>& jobs, const Platform& platform) : jobs_(jobs) {
    const Platform::Model& model = platform.models()[0];
    for (const Profile& profile : model.gpu->profiles())
      if (profile.compute_slices == model.gpu->compute_slices() && profile.variant == Variant::kPlain)
        for (const BatchJob& job : jobs) watts_.push_back(model.power.added(job.watts_like, profile));
    SMARTMIG_CHECK(watts_.size() == jobs.size(), "no whole profile");
  }
  void look(Daemon& daemon, BatchOutcome& out) {
    const double now = unix_seconds(daemon.now());
    int running = 0;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      const auto at = daemon.live_jobs().find(ids[i]);
      const bool runs = at != daemon.live_jobs().end() && at->second.times.started != kNotYet &&
                        (at->second.status == JobStatus::kRunning || at->second.status == JobStatus::kStopping);
      const int attempt = runs ? at->second.attempt : 0;
      running += runs;
      Seen& seen = seen_[ids[i]];
      if (seen.attempt != attempt) {
        if (seen.attempt) {
          out.joules_by_speed += watts_[i] * jobs_[i].speed[std::size_t(seen.slices - 1)] * (now - seen.since);
          if (at != daemon.live_jobs().end()) out.lost_s += now - seen.since;
          mib_seconds += memory_of(i, seen.slices, now - seen.since);
        }
        seen = {attempt, 0, now, false};
        if (runs)
          seen.slices = int(
              parse_int(at->second.place.slice.profile.substr(0, at->second.place.slice.profile.find('g'))).value());
      }
      if (at == daemon.live_jobs().end() && !seen.ended) {
        seen.ended = true;
        ends_s += now;
      }
    }
    out.most_at_once = std::max(out.most_at_once, running);
  }
  std::vector<QueueId> ids;
  double ends_s = 0;       // summed over finished jobs
  double mib_seconds = 0;  // held by finished attempts

 private:
  struct Seen {
    int attempt = 0, slices = 0;
    double since = 0;
    bool ended = false;
  };
  // MiB-seconds of an attempt that ran this long from the job's start: linear between the script's points.
  double memory_of(std::size_t i, int slices, double run_s) const {
    const EmulatedScript script = jobs_[i].script();
    const double whole_s = script.seconds[std::size_t(slices - 1)], until = std::min(1.0, run_s / whole_s);
    double sum = 0, from = 0;
    const auto add = [&](double to) {
      if (to <= from) return;
      sum += (script.mib_at(from) + script.mib_at(to)) / 2 * (to - from) * whole_s;
      from = to;
    };
    for (const auto& [share, mib] : script.memory) add(std::min(share, until));
    add(until);
    return sum;
  }
  const std::vector<BatchJob>& jobs_;
  std::vector<double> watts_;  // on the whole GPU, above idle
  std::map<QueueId, Seen> seen_;
};

Result<double> board_joules(DaemonHost& host) {
  double sum = 0;
  for (std::size_t g = 0; g < host.daemon().state().boards.size(); ++g) {
    SMARTMIG_TRY(const double joules, host.daemon().world().driver.energy(GpuId(std::uint32_t(g))));
    sum += joules;
  }
  return sum;
}

DaemonHostOptions options_of(const BatchSetting& setting, std::string state) {
  DaemonHostOptions options;
  options.settings.places.driver = "emulate:" + setting.gpus;
  options.settings.places.state_dir = std::move(state);
  options.settings.policy.name = setting.policy;
  options.settings.oom.early = setting.early;
  options.settings.energy.sample = from_seconds(setting.sample_s);
  options.settings.host.cpus = 1024;  // irrelevant here, and equal on every host
  options.settings.host.mem_mib = 1 << 22;
  options.clock = "virtual";
  options.in_process = true;
  options.emulation_seed = 7;
  options.settings.power.model = "a100-jobs";
  return options;
}

}  // namespace

Result<BatchOutcome> run_batch(const std::vector<BatchJob>& jobs, const BatchSetting& setting) {
  SMARTMIG_TRY(const StateDir state, StateDir::make());
  SMARTMIG_TRY(const auto host, DaemonHost::open(options_of(setting, state.path)));
  Daemon& daemon = host->daemon();
  Watch watch(jobs, daemon.state().session.platform());
  BatchOutcome out;
  std::vector<JobSpec> specs;
  double one_by_one = 0;
  for (const BatchJob& job : jobs) {
    JobSpec spec;
    spec.command = {fmt::format("job{}", specs.size())};  // each its own program: nothing is learned of the others
    spec.directory = "/";
    spec.environment = job.script().to_environment();
    spec.estimate = from_seconds(job.whole_s);
    if (setting.told >= JobsTold::kProfiled && job.profiled) {
      spec.kind = job.kind;
    } else if (setting.told != JobsTold::kNothing) {
      spec.estimate = from_seconds(job.whole_s / job.speed[0]);
      spec.estimate_slices = 1;
    }
    if (setting.told == JobsTold::kMemory) spec.mem_mib = int(std::ceil(job.peak_mib()));
    specs.push_back(std::move(spec));
    one_by_one += job.whole_s;
  }
  const UnixTime begin = daemon.now();
  SMARTMIG_TRY(const double joules_before, board_joules(*host));
  std::vector<std::string> warnings;
  SMARTMIG_TRY(watch.ids, daemon.jobs().submit({1001, 1001, true}, std::move(specs), warnings));
  daemon.step();
  watch.look(daemon, out);
  while (!daemon.live_jobs().empty()) {
    if (seconds(daemon.now() - begin) > kPatience * one_by_one)
      return invalid("after {:.0f} s {} jobs are still not done under {}", seconds(daemon.now() - begin),
                     daemon.live_jobs().size(), setting.policy);
    host->clock().wait_until(daemon.next_due());
    daemon.step();
    watch.look(daemon, out);
  }
  out.makespan_s = seconds(daemon.now() - begin);
  SMARTMIG_TRY(const double joules_after, board_joules(*host));
  out.joules = joules_after - joules_before;
  for (std::size_t g = 0; g < daemon.state().boards.size(); ++g)
    out.idle_joules += daemon.state().session.platform().model(GpuId(std::uint32_t(g))).power.idle() * out.makespan_s;
  out.joules_by_speed += out.idle_joules;
  double memory_mib = 0;
  for (std::size_t g = 0; g < daemon.state().boards.size(); ++g)
    memory_mib += double(daemon.state().session.platform().model(GpuId(std::uint32_t(g))).gpu->spec().memory_mib);
  out.memory_used = watch.mib_seconds / (memory_mib * out.makespan_s);
  out.turnaround_s = watch.ends_s / double(jobs.size()) - unix_seconds(begin);
  const Counts& counts = daemon.counts();
  out.done = int(counts.ended[std::size_t(JobStatus::kDone)]);
  out.failed = int(counts.ended[std::size_t(JobStatus::kFailed)]);
  if (std::size_t(out.done + out.failed) != jobs.size())
    return invalid("{} jobs were submitted, {} are done and {} failed", jobs.size(), out.done, out.failed);
  out.out_of_memory = counts.oom_restarts;
  out.early = counts.early_restarts;
  for (const auto& [what, count] : daemon.state().figures.reconfigurations()) out.operations += count;
  return out;
}

}  // namespace smartmig
