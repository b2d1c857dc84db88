#include "cli/slurm/slurm_serve.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "cli/cluster/cluster_desk.h"
#include "cli/cluster/log_lines.h"
#include "cli/cluster/stop_signal.h"
#include "cli/verbs.h"
#include "cluster/controller.h"
#include "cluster/shadow.h"
#include "slurm/slurm_commands.h"
#include "slurm/slurm_names.h"
#include "slurm/slurm_workload.h"

namespace smartmig::cli {
namespace {

constexpr Time kTryAgain{2'000'000};

// How long no controller has spoken to any agent that answers; nothing: no agent answers.
std::optional<double> silence_s(Agents& agents, const std::vector<SlurmNode>& nodes) {
  std::optional<double> least;
  std::vector<std::string> names;
  for (const SlurmNode& node : nodes) names.push_back(node.name);
  for (const auto& status : ask_each(agents, names, {{"op", "status"}}, Time(3'000'000))) {
    if (!status) continue;
    const double here = status->value("since_leader_s", 0.0);
    least = std::min(least.value_or(here), here);
  }
  return least;
}

ClusterController::Options controller_options(const SlurmOptions& options, UnixTime now) {
  ClusterController::Options wanted;
  wanted.settings = options.settings;
  wanted.state_dir = options.state_dir;
  wanted.name = short_host_name();
  wanted.version = SMARTMIG_VERSION;
  wanted.epoch = std::uint64_t(unix_us(now));
  wanted.start_patience = options.start_patience;
  wanted.reshape_limit = options.reshape_limit;
  wanted.metrics_file = options.metrics;
  wanted.say = tell_log;
  return wanted;
}

// Where agents tell of jobs that are over, so that their slices are given at once. Without it the next status says so.
class NewsDoor {
 public:
  ~NewsDoor() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  // `listen`: "0.0.0.0:6822", port 0: any; empty: no door.
  Result<Ok> open(const SlurmOptions& options, std::shared_ptr<Seal> seal, LiveClock& clock) {
    if (options.news.empty()) return Ok{};
    auto server = WireServer::listen(options.news, [this, seal, &clock](const std::string& question) -> std::string {
      const auto opened = seal->open(question);
      if (!opened || (opened->uid != 0 && opened->uid != ::geteuid())) return "";
      const auto heard = read_ended(opened->text);
      if (!heard) return "";
      ended_.add(heard->first, heard->second);
      clock.wake();
      return "ok";
    });
    if (!server) return server.error();
    server_.emplace(std::move(*server));
    const std::string host = options.news.substr(0, options.news.rfind(':'));
    const bool any = host.empty() || host == "0.0.0.0" || host == "[::]";
    address_ = fmt::format("{}:{}", any ? short_host_name() : host, server_->port());
    thread_ = std::thread([this] { server_->run(stop_); });
    return Ok{};
  }
  void give(ClusterController::Options& options) {
    options.news_address = address_;
    options.ended = &ended_;
  }

 private:
  EndedJobs ended_;
  std::string address_;
  std::optional<WireServer> server_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace

Result<std::vector<SlurmNode>> addressed_nodes(Slurm& slurm, WireAgents& agents, const SlurmOptions& options) {
  SMARTMIG_TRY(auto nodes, slurm.nodes());
  std::erase_if(nodes, [](const SlurmNode& node) { return node.units == 0; });
  for (const SlurmNode& node : nodes) {
    const auto given = options.agents.find(node.name);
    agents.set_address(node.name, given != options.agents.end()
                                      ? given->second
                                      : fmt::format("{}:{}", node.address, options.agent_port));
  }
  return nodes;
}

int watch_cluster(const SlurmOptions& options) {
  StopSignal signals;
  RealClock clock;
  signals.watch([&] { clock.wake(); });
  ClusterDesk desk(clock, kSlurmWords);
  if (const auto opened = desk.open(options.settings, options.state_dir); !opened) return failure(opened.error());
  SlurmCommands slurm(options.partitions);
  SlurmWorkload::Options looks;
  looks.watched = true;
  SlurmWorkload watched(slurm, clock, std::move(looks));
  auto shadow = ShadowCluster::open(watched, options.gpus, clock);
  if (!shadow) return usage_error(shadow.error());
  while (!signals.stop()) {
    auto controller =
        ClusterController::open(**shadow, **shadow, clock, desk.given(controller_options(options, clock.now())));
    if (!controller) {
      tell_log(controller.error().what);
      desk.wait(kTryAgain, signals.stop());
      continue;
    }
    tell_log(fmt::format("only watching: {} under {}", (*controller)->in_one_line(), options.settings.policy.name));
    (*controller)->run(signals.stop());
  }
  return 0;
}

int serve_cluster(const SlurmOptions& options) {
  StopSignal signals;
  RealClock clock;
  signals.watch([&] { clock.wake(); });
  auto seal = open_munge(options.munge_socket);
  if (!seal) return failure(seal.error());
  const std::shared_ptr<Seal> shared(std::move(*seal));
  WireAgents agents(shared);
  NewsDoor news;
  if (const auto opened = news.open(options, shared, clock); !opened)
    tell_log(opened.error().what + "; the controller asks agents for ended jobs");
  ClusterDesk desk(clock, kSlurmWords);
  if (const auto opened = desk.open(options.settings, options.state_dir); !opened) return failure(opened.error());
  SlurmCommands slurm(options.partitions);
  SlurmWorkload::Options given;
  given.resumed_file = options.state_dir + "/resumed.json";
  given.resumes = options.resumes;
  given.say = tell_log;
  SlurmWorkload workload(slurm, clock, std::move(given));
  bool waits = options.standby, told = false;
  while (!signals.stop()) {
    const auto nodes = addressed_nodes(slurm, agents, options);
    if (!nodes) {
      tell_log(nodes.error().what);
      desk.wait(kTryAgain, signals.stop());
      continue;
    }
    if (waits) {
      if (!told) tell_log("standing by");
      told = true;
      const auto silence = silence_s(agents, *nodes);
      if (!silence || *silence < seconds(options.takeover)) {
        desk.wait(kTryAgain, signals.stop());
        continue;
      }
      tell_log(fmt::format("no controller has answered for {:.0f} s: taking over", *silence));
    }
    auto wanted = desk.given(controller_options(options, clock.now()));
    news.give(wanted);
    auto controller = ClusterController::open(workload, agents, clock, std::move(wanted));
    if (!controller) {
      tell_log(controller.error().what);
      desk.wait(kTryAgain, signals.stop());
      continue;
    }
    tell_log(fmt::format("{} under {}", (*controller)->in_one_line(), options.settings.policy.name));
    switch ((*controller)->run(signals.stop())) {
      case ClusterController::Outcome::kStopped:
        break;
      case ClusterController::Outcome::kRebuild:
        tell_log("rereading everything");
        waits = false;
        break;
      case ClusterController::Outcome::kReplaced:
        waits = true;
        told = false;
        break;
    }
  }
  tell_log("ended; running jobs continue, held jobs wait for the next controller");
  return 0;
}

}  // namespace smartmig::cli
