// smartmig agent: the GPUs of one node of a Slurm cluster, for the controller (smartmig slurm serve).
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cluster/log_lines.h"
#include "cli/cluster/stop_signal.h"
#include "cli/command.h"
#include "cli/queue/service_manager.h"
#include "cli/time_words.h"
#include "cli/verbs.h"
#include "cluster/agents.h"
#include "cluster/folder_watch.h"
#include "cluster/private_folder.h"
#include "cluster/wire.h"
#include "live/gpu_access.h"
#include "slurm/fallback.h"
#include "slurm/job_cgroup.h"
#include "slurm/living_job.h"
#include "slurm/site_check.h"
#include "slurm/slurm_commands.h"
#include "slurm/slurm_names.h"

namespace smartmig::cli {
namespace {

constexpr Time kSampleEvery{1'000'000}, kFallbackEvery{5'000'000}, kFenceEvery{100'000};
constexpr Time kMarksEvery{500'000}, kNewsLimit{2'000'000};
constexpr const char* kCgroups = "/sys/fs/cgroup";

bool slurm_constrains_devices() {
  const auto text = slurm_config_text();
  return text && constrains_devices(parse_slurm_config(*text));
}

Result<std::vector<std::uint32_t>> users_of(const std::string& list) {
  std::vector<std::uint32_t> out;
  for (const std::string_view name : split(list, ',')) {
    if (trim(name).empty()) continue;
    const passwd* entry = ::getpwnam(std::string(trim(name)).c_str());
    if (!entry) return invalid("--allow: unknown user '{}'", trim(name));
    out.push_back(entry->pw_uid);
  }
  return out;
}

}  // namespace

int run_agent(const Arguments& arguments) {
  std::string emulate, driver, listen = fmt::format("0.0.0.0:{}", kAgentPort), state = kAgentState,
                               node = short_host_name(), allow, munge, partitions = "mig", fallback = "10m",
                               clock = "real", fence = "auto";
  GpuAccessOptions access;
  bool quiet = false;
  Command command("agent", "[--emulate GPUS]",
                  "Serves the GPUs of this node to the controller of a Slurm cluster (smartmig slurm "
                  "serve): creates and removes slices,\nand records each job's slice for Slurm's Prolog, "
                  "TaskProlog and Epilog. It accepts requests that munge signed for root\nor a user of "
                  "--allow.",
                  "smartmig agent --listen 0.0.0.0:6821 --allow slurm");
  command.option("--listen", listen, "ADDRESS", "address to listen on");
  command.option("--node", node, "NAME", "name of this node in Slurm");
  command.option("--state", state, "DIR", "directory for the records of jobs' slices");
  command.option("--allow", allow, "USERS",
                 "users other than root whose requests the agent accepts, such as the controller's user");
  command.option("--munge-socket", munge, "PATH", "socket of munged (default: the system's)");
  command.option("--fallback", fallback, "TIME",
                 "time without a controller after which the agent itself releases jobs; 0: never");
  command.option("--partitions", partitions, "LIST", "Slurm partitions whose jobs smartmig places");
  command.option(
      "--fence", fence, "MODE",
      "keep jobs from the device files of other slices: on, off, or auto (on if cgroup.conf has ConstrainDevices=yes)");
  command.option("--emulate", emulate, "GPUS", "emulated GPUs instead of this machine's, such as 4xa100-40gb");
  command.option("--clock", access.clock, "MODE", "with --emulate: real, or zero (reshapes take no time)");
  command.option("--nvml", access.nvml, "FILE", "NVML library (default: libnvidia-ml.so.1)");
  command.flag("--adopt", access.adopt, "take over slices that smartmig did not create");
  command.flag("--quiet", quiet, "print nothing at start-up");
  if (const auto end = command.ends(arguments)) return *end;
  const auto users = users_of(allow);
  if (!users) return usage_error(users.error());
  const auto patience = read_duration(fallback, Time(1'000'000));
  if (!patience) return usage_error(patience.error());
  if (!is_slurm_name(node)) return usage_error(invalid("--node: '{}' is not a node name", node));
  if (fence != "auto" && fence != "on" && fence != "off")
    return usage_error(invalid("--fence must be auto, on or off"));
  if (access.clock == "virtual") return usage_error(invalid("--clock must be real or zero"));

  ::umask(022);
  StopSignal signals;
  access.state_dir = state + "/" + node;
  access.driver = emulate.empty() ? "nvml" : "emulate:" + emulate;
  for (const std::string& folder : {state, access.state_dir})
    if (const auto made = make_private_folder(folder); !made) return failure(made.error());
  auto gpus = open_gpus(access);
  if (!gpus) return failure(gpus.error());
  auto reshaper = Reshaper::open(*gpus->driver, access.state_dir);
  if (!reshaper) return failure(reshaper.error());
  const auto recovered = reshaper->recover();
  if (!recovered) return failure(recovered.error());
  for (const std::string& words : *recovered) tell_log(words);
  auto seal = open_munge(munge);
  if (!seal) return failure(seal.error());
  NodeAgent::Options options{node, access.state_dir, *users, {}, {}};
  if (fence == "on" || (fence == "auto" && slurm_constrains_devices()))
    options.fence.emplace(cgroups_of_jobs(kCgroups, node));
  const bool fences = options.fence.has_value();
  if (gpus->machine) options.environment = gpus->machine->environment();
  options.lives = [living = LivingJobs(node, kCgroups)](std::uint32_t job) { return living.evidence(job); };
  options.tell = [&seal, node](const std::string& controller, const std::vector<std::uint32_t>& jobs) {
    if (const auto sealed = (*seal)->seal(ended_text(node, jobs)))
      (void)ask_over_wire(controller, *sealed, kNewsLimit);  // else its next question shows it
  };
  auto agent = NodeAgent::open(*gpus->driver, *reshaper, *gpus->clock, std::move(options));
  if (!agent) return failure(agent.error());
  auto server = WireServer::listen(listen, [&](const std::string& question) -> std::string {
    const auto opened = (*seal)->open(question);
    if (!opened) return "";  // who is not believed is told nothing
    const auto answer = (*seal)->seal((*agent)->handle(opened->text, opened->uid));
    return answer ? *answer : "";
  });
  if (!server) return failure(server.error());
  auto marks = FolderWatch::open(access.state_dir + "/jobs");  // Epilog's
  if (!marks) return failure(marks.error());
  const ServiceManager manager = ServiceManager::of_environment();
  if (!quiet)
    tell_log(fmt::format("{}: agent of {} with {} GPUs, listening at {}{}", SMARTMIG_VERSION, node,
                         (*agent)->boards().size(), listen,
                         fences ? ", jobs can open only their own device files" : ""));
  manager.tell("READY=1");

  std::vector<std::string> list;
  for (const std::string_view one : split(partitions, ',')) list.emplace_back(trim(one));
  SlurmCommands slurm(list);
  Fallback alone(slurm, **agent, *gpus->clock);
  signals.watch([&] { gpus->clock->wake(); });
  std::thread listening([&] { server->run(signals.stop()); });
  std::thread fencing([&] {
    while (fences && !signals.stop()) {
      for (const std::string& words : (*agent)->fence()) tell_log(words);
      gpus->clock->sleep(kFenceEvery);
    }
  });
  UnixTime next_fallback{};
  std::thread watching([&] {
    while (!signals.stop()) {
      (*agent)->tell_ended();
      (void)marks->wait(kMarksEvery);
    }
  });
  while (!signals.stop()) {
    (*agent)->sample();
    if (*patience > Time{0} && (*agent)->since_leader() > *patience && gpus->clock->now() >= next_fallback) {
      next_fallback = gpus->clock->now() + kFallbackEvery;
      const auto released = alone.step();
      if (!released) tell_log(released.error().what);
      if (released)
        for (const ClusterJobName& job : *released)
          tell_log(fmt::format("no controller: this agent released job {}", to_string(job)));
    }
    gpus->clock->wait_until(gpus->clock->now() + kSampleEvery);
  }
  fencing.join();
  watching.join();
  listening.join();
  return 0;
}

}  // namespace smartmig::cli
