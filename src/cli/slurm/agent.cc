// smartmig agent: the GPUs of one node of a Slurm cluster, for the controller (smartmig slurm serve).
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/queue/service_manager.h"
#include "cli/slurm/log_lines.h"
#include "cli/slurm/stop_signal.h"
#include "cli/time_words.h"
#include "cli/verbs.h"
#include "serve/daemon/gpu_access.h"
#include "slurm/agents.h"
#include "slurm/fallback.h"
#include "slurm/folder_watch.h"
#include "slurm/living_job.h"
#include "slurm/private_folder.h"
#include "slurm/seal.h"
#include "slurm/site_check.h"
#include "slurm/slurm_commands.h"
#include "slurm/slurm_names.h"
#include "slurm/wire.h"

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
    if (!entry) return invalid("--allow: there is no user '{}'", trim(name));
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
                  "Serves the GPUs of this node to the controller of a Slurm cluster (smartmig slurm serve): makes and "
                  "removes slices, and writes down which job gets which, for Slurm's Prolog, TaskProlog and Epilog.\n"
                  "Requests are believed if munge signed them for root or a user of --allow.",
                  "smartmig agent --listen 0.0.0.0:6821 --allow slurm");
  command.option("--listen", listen, "ADDRESS", "where the controller reaches it");
  command.option("--node", node, "NAME", "Slurm's name of this node");
  command.option("--state", state, "DIR", "where slices of jobs are written down, below the node's name");
  command.option("--allow", allow, "USERS", "users besides root who may ask: the controller's");
  command.option("--munge-socket", munge, "PATH", "of munged, else the system's");
  command.option("--fallback", fallback, "TIME",
                 "without a word from a controller for so long, it releases jobs by itself; 0: never");
  command.option("--partitions", partitions, "LIST", "Slurm's partitions that smartmig fills");
  command.option(
      "--fence", fence, "MODE",
      "keep jobs from device files of others' slices, in the cgroups that Slurm makes: on, off, or auto: where "
      "cgroup.conf says ConstrainDevices=yes");
  command.option("--emulate", emulate, "GPUS", "emulated GPUs instead of this machine's, such as 4xa100-40gb");
  command.option("--clock", access.clock, "MODE", "with --emulate: real, or zero (reshaping takes no time)");
  command.option("--nvml", access.nvml, "FILE", "the NVML library, else libnvidia-ml.so.1");
  command.flag("--adopt", access.adopt, "take over slices that somebody else made");
  command.flag("--quiet", quiet, "no words at the start");
  const auto parsed = command.parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;
  const auto users = users_of(allow);
  if (!users) return usage_error(users.error());
  const auto patience = read_duration(fallback, Time(1'000'000));
  if (!patience) return usage_error(patience.error());
  if (!is_slurm_name(node)) return usage_error(invalid("--node: '{}' is not a name of a node", node));
  if (fence != "auto" && fence != "on" && fence != "off") return usage_error(invalid("--fence: auto, on or off"));
  if (access.clock == "virtual") return usage_error(invalid("--clock: real or zero"));

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
  if (fence == "on" || (fence == "auto" && slurm_constrains_devices())) options.fence.emplace(kCgroups, node);
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
                         (*agent)->boards().size(), listen, fences ? ", jobs fenced in" : ""));
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
        for (const SlurmJobName& job : *released)
          tell_log(fmt::format("no controller; job {} is released here", to_string(job)));
    }
    gpus->clock->wait_until(gpus->clock->now() + kSampleEvery);
  }
  fencing.join();
  watching.join();
  listening.join();
  return 0;
}

}  // namespace smartmig::cli
