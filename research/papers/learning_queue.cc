#include "research/papers/learning_queue.h"

#include "base/math.h"
#include "base/rng.h"
#include "base/text.h"
#include "eval/statistics.h"
#include "live/emulation/emulated_script.h"
#include "queue/jobs/job_json.h"
#include "research/papers/state_dir.h"
#include "serve/api/daemon_host.h"

namespace smartmig {
namespace {

constexpr int kTaught = 3;  // noiseless runs on every size make a history as good as the truth

DaemonHostOptions learning_options(std::string state) {
  DaemonHostOptions options;
  options.settings.places.driver = "emulate:1xa100-40gb";
  options.settings.places.state_dir = std::move(state);
  options.settings.host.cpus = 1024;  // irrelevant here, and equal on every host
  options.settings.host.mem_mib = 1 << 22;
  options.clock = "virtual";
  options.in_process = true;
  options.emulation_seed = 7;
  return options;
}

History truth_of(const std::vector<SyntheticCommand>& commands) {
  History history;
  for (int i = 0; i < kTaught; ++i)
    for (const SyntheticCommand& command : commands)
      for (const int slices : kLearningSizes) {
        PastRun run;
        run.ran_s = command.seconds_on(slices);
        run.slices = slices;
        run.of = 7;
        history.add({command.name, {}}, run);
      }
  return history;
}

class Rounds {
 public:
  Rounds(DaemonHost& host, const std::vector<SyntheticCommand>& commands, QueueKnows knows)
      : host_(host), commands_(commands), knows_(knows), whole_s_(commands.size()) {}

  Result<QueueRound> run(int round, double noise, std::uint64_t seed) {
    Daemon& daemon = host_.daemon();
    const UnixTime begin = daemon.now();
    SMARTMIG_TRY(const double before, daemon.world().driver.energy(GpuId{0}));
    std::vector<JobSpec> specs;
    for (std::size_t c = 0; c < commands_.size(); ++c) specs.push_back(spec_of(c, round, noise, seed));
    std::vector<std::string> warnings;
    SMARTMIG_TRY(const std::vector<QueueId> ids, daemon.jobs().submit({1001, 1001, true}, std::move(specs), warnings));
    daemon.step();
    while (!daemon.live_jobs().empty()) {
      if (seconds(daemon.now() - begin) > 1e7) return invalid("round {} does not end", round);
      host_.clock().wait_until(daemon.next_due());
      daemon.step();
    }
    QueueRound out;
    out.makespan_s = seconds(daemon.now() - begin);
    SMARTMIG_TRY(const double after, daemon.world().driver.energy(GpuId{0}));
    out.joules = after - before;
    for (std::size_t c = 0; c < ids.size(); ++c) {
      SMARTMIG_TRY(const auto row, daemon.state().book.stored(ids[c]));
      if (!row) return invalid("job {} is lost", number(ids[c]));
      SMARTMIG_TRY(const JobRecord job, from_row(*row));
      if (job.status != JobStatus::kDone) return invalid("job {} is {}", number(ids[c]), name_of(job.status));
      out.mean_turnaround_s += seconds(job.times.ended - begin) / double(ids.size());
      const int slices =
          int(parse_int(job.place.slice.profile.substr(0, job.place.slice.profile.find('g'))).value_or(7));
      whole_s_[c].push_back(seconds(job.times.ended - job.times.started) *
                            deterministic_exp(0.5 * deterministic_log(slices / 7.0)));
    }
    return out;
  }

 private:
  JobSpec spec_of(std::size_t c, int round, double noise, std::uint64_t seed) const {
    const SyntheticCommand& command = commands_[c];
    Rng rng(mix64(seed, std::uint64_t(round)), c);
    const double factor = rng.lognormal(0, noise);
    EmulatedScript script;
    for (int slices = 1; slices <= 7; ++slices)
      script.seconds[std::size_t(slices - 1)] = command.seconds_on(slices) * factor;
    JobSpec spec;
    // Under the fixed rule each round's job is another command, so only what it is told is known of it.
    spec.command = {knows_ == QueueKnows::kFixedRule ? fmt::format("round{}-{}", round, command.name) : command.name};
    spec.directory = "/";
    spec.environment = script.to_environment();
    if (knows_ == QueueKnows::kFixedRule && !whole_s_[c].empty()) spec.estimate = from_seconds(median_of(whole_s_[c]));
    return spec;
  }

  DaemonHost& host_;
  const std::vector<SyntheticCommand>& commands_;
  const QueueKnows knows_;
  std::vector<std::vector<double>> whole_s_;  // by command: its runs' whole-GPU times by the rule
};

}  // namespace

const char* name_of(QueueKnows knows) {
  constexpr const char* kNames[] = {"learns", "fixed rule", "knows the truth"};
  return kNames[int(knows)];
}

Result<std::vector<QueueRound>> run_rounds(const std::vector<SyntheticCommand>& commands, QueueKnows knows, int rounds,
                                           double noise, std::uint64_t seed) {
  SMARTMIG_TRY(const StateDir state, StateDir::make());
  SMARTMIG_TRY(const auto host, DaemonHost::open(learning_options(state.path)));
  if (knows == QueueKnows::kTruth) host->daemon().state().estimates.add_history(truth_of(commands));
  Rounds all(*host, commands, knows);
  std::vector<QueueRound> out;
  for (int round = 0; round < rounds; ++round) {
    SMARTMIG_TRY(const QueueRound one, all.run(round, noise, seed));
    out.push_back(one);
  }
  return out;
}

}  // namespace smartmig
