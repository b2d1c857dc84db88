// The daemon in the foreground: opens the host, listens, and runs the queue on this thread until a signal ends it.
// Jobs are not children of the queue: they go on when it ends, and the next daemon finds them.
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "base/errors.h"
#include "base/thread.h"
#include "cli/http_doors.h"
#include "cli/policy_flags.h"
#include "cli/queue/service_manager.h"
#include "cli/verbs.h"
#include "http/api.h"
#include "http/http_server.h"
#include "http/listen_options.h"
#include "http/page.h"
#include "queue/config/places.h"
#include "serve/api/daemon_host.h"

namespace smartmig::cli {
namespace {

// SIGTERM and SIGINT end the daemon, SIGHUP reads its configuration again. Signals are taken by a thread that waits for
// them, so no handler interrupts anything.
class Signals {
 public:
  static sigset_t block() {
    sigset_t set;
    sigemptyset(&set);
    for (const int s : {SIGTERM, SIGINT, SIGHUP, SIGUSR2}) sigaddset(&set, s);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    signal(SIGPIPE, SIG_IGN);
    return set;
  }
  Result<Ok> start(sigset_t set, DaemonHost& host, const ServiceManager& manager) {
    SMARTMIG_TRY(thread_, start_thread("signals", [set, &host, manager] {
                   for (int got = 0; sigwait(&set, &got) == 0;) {
                     if (got == SIGUSR2) return;
                     if (got == SIGHUP) {
                       manager.tell_reloading();
                       Caller root;
                       root.operator_rights = true;
                       if (const auto done = host.service().reload(root); !done)
                         fmt::print(stderr, "smartmig: configuration not reloaded: {}\n", done.error().what);
                       else
                         fmt::print(stderr, "smartmig: configuration reloaded\n");
                       manager.tell("READY=1");
                       continue;
                     }
                     manager.tell("STOPPING=1\nSTATUS=stopping; running jobs continue");
                     return host.daemon().stop();
                   }
                 }));
    return Ok{};
  }
  ~Signals() {
    if (!thread_.joinable()) return;
    pthread_kill(thread_.native_handle(), SIGUSR2);
    thread_.join();
  }

 private:
  std::thread thread_;
};

std::string emulated_fleet(const Settings& settings) {  // empty: real GPUs
  constexpr std::string_view kEmulate = "emulate:";
  const std::string& driver = settings.places.driver;
  return driver.starts_with(kEmulate) ? driver.substr(kEmulate.size()) : "";
}

// "8 x a100-40gb: 5 jobs run, 12 wait", from the owner of the queue: no answer means that it hangs. Empty: it goes down.
std::string in_one_line(DaemonHost& host) {
  const auto words = host.daemon().ask<std::string>([&](Daemon& daemon) -> Result<std::string> {
    std::size_t waiting = 0;
    for (const auto& [id, job] : daemon.live_jobs()) waiting += job.status <= JobStatus::kQueued;
    return fmt::format("{}: {} jobs running, {} waiting", host.gpus(), daemon.live_jobs().size() - waiting, waiting);
  });
  return words ? *words : "";
}

}  // namespace

int run_serve(const Arguments& arguments) {
  std::string config_file, emulate, driver, socket, state, policy, shadow, power, clock = "real";
  PolicyOptions parameters;
  DaemonHostOptions station_options;
  bool gen_config = false, quiet = false, http = false;
  std::int64_t http_port = -1;
  Command command(
      "serve", "[--emulate GPUS]",
      "Runs the queue: accepts jobs on a Unix socket, creates slices for them, runs them and accounts for their energy.\nThe state is durable: jobs keep running while the daemon is stopped, and the next daemon takes them over.\nSIGHUP reloads the configuration; SIGTERM stops the daemon but not the jobs.",
      "smartmig serve --emulate 8xa100-40gb &\n  smartmig run -- sh -c 'echo $CUDA_VISIBLE_DEVICES'");
  command.option("--config", config_file, "FILE",
                 "configuration file (TOML); smartmig serve --gen-config shows all settings");
  command.flag("--gen-config", gen_config, "print the effective configuration and exit");
  command.heading("GPUs");
  command.option("--emulate", emulate, "GPUS", "use emulated GPUs instead of this machine's, such as 8xa100-40gb");
  command.option("--driver", driver, "NAME", "nvml (MIG) or mps (soft slices, not isolated)");
  command.heading("Socket, page and files");
  command.option("--socket", socket, "PATH", "Unix socket to listen on").env("SMARTMIG_SOCKET");
  command.flag("--http", http,
               "also serve a read-only page at http://127.0.0.1:7480/; to change jobs, sign in with a token");
  command.option("--http-port", http_port, "PORT", "--http on another port of 127.0.0.1; 0: any free port");
  command
      .option("--state", state, "DIR",
              "directory of the queue, logs and ledgers (default: one for this machine, one for each emulated fleet)")
      .env("SMARTMIG_STATE");
  command.heading("Policy");
  command.option("--policy", policy, "POLICY", "scheduling policy, from the list below");
  declare_policy_parameters(command, parameters);
  command.option("--shadow", shadow, "NAME",
                 "second policy, whose decisions are logged and evaluated but not carried out");
  command.option("--power", power, "MODEL", "power model of the GPUs; auto: the default for each GPU model");
  command.heading("GPUs");
  command.option("--like", station_options.like, "MODEL",
                 "with --driver mps: catalogue model whose profiles define the shares");
  command.option("--nvml", station_options.nvml, "FILE", "NVML library (default: libnvidia-ml.so.1)");
  command.flag("--adopt", station_options.adopt, "take over slices that smartmig did not create");
  command.heading("Socket, page and files");
  command.flag("--new-queue", station_options.new_queue,
               "start a new queue if the old one is lost; running jobs are taken over");
  command.heading("GPUs");
  command.option(
      "--clock", clock, "MODE",
      "with --emulate: real, zero (changing slices takes no time) or virtual (time jumps to the next event)");
  command.flag("--without-processes", station_options.in_process,
               "with --emulate: do not run the jobs; each job ends at its predicted time");
  command.heading("");
  command.flag("--quiet", quiet, "print nothing at start-up");
  list_policies(command);
  if (const auto end = command.ends(arguments)) return *end;

  const auto read = [=]() -> Result<Settings> {
    Settings settings;
    if (!config_file.empty()) {
      auto file = read_settings(config_file);
      if (!file) return of_file(file.error());
      settings = std::move(*file);
    }
    if (!emulate.empty()) settings.places.driver = "emulate:" + emulate;
    if (!driver.empty()) settings.places.driver = driver;
    if (!socket.empty()) settings.places.socket = socket;
    SMARTMIG_RETURN_IF_ERROR(take_http_flags(settings, http, http_port));
    if (!state.empty()) settings.places.state_dir = state;
    if (!policy.empty()) settings.policy.name = policy;
    if (!parameters.layouts.empty()) settings.policy.layouts = parameters.layouts;
    if (!parameters.weights.empty()) settings.policy.weights = parameters.weights;
    if (!parameters.network.empty()) settings.policy.network = parameters.network;
    if (!shadow.empty()) settings.policy.shadow = shadow;
    if (!power.empty()) settings.power.model = power;
    if (settings.places.socket.empty()) settings.places.socket = default_socket();
    if (const std::string fleet = emulated_fleet(settings); settings.places.state_dir.empty() && !fleet.empty())
      settings.places.state_dir = emulated_state_dir(fleet, clock);
    return settings;
  };
  if (!emulate.empty() && !driver.empty()) return usage_error(invalid("give --emulate or --driver, not both"));
  auto settings = read();
  if (!settings) return usage_error(settings.error());
  if (gen_config) {
    fmt::print("{}", to_toml(*settings, true));
    return 0;
  }
  station_options.settings = *settings;
  station_options.version = SMARTMIG_VERSION;
  station_options.clock = clock;
  station_options.reread = read;

  if (::geteuid() == 0) ::umask(022);  // jobs of all users meet what is not made private by name
  const ServiceManager manager = ServiceManager::of_environment();
  const sigset_t signals = Signals::block();
  auto host = DaemonHost::open(std::move(station_options));
  if (!host) return failure(host.error());
  Signals waiting;
  if (const auto started = waiting.start(signals, **host, manager); !started) return failure(started.error());
  // Somebody may have asked the owner already, and waits.
  const auto give_up = [&](const Error& error) {
    (*host)->daemon().stop();
    (*host)->daemon().run();
    return failure(error);
  };
  Api api((*host)->service(), SMARTMIG_VERSION);
  auto server = HttpServer::start(api, socket_options(*settings));
  if (!server) return failure(server.error());
  PageHandler with_page(api);
  if (!settings->http.listen.empty() && !has_page()) return give_up(unsupported("{}", kNoPage));
  auto doors = open_doors(with_page, *settings, quiet);
  if (!doors) return give_up(doors.error());
  {
    if (const std::string rough = rough_watts((*host)->daemon().state().session.platform()); !quiet && !rough.empty())
      fmt::print(stderr, "smartmig: {}\n", rough);
    if (!quiet)
      fmt::print(stderr, "smartmig {}: {} under {}, listening at {}{}\n", SMARTMIG_VERSION, (*host)->gpus(),
                 (*host)->daemon().policies().name(), (*server)->name(),
                 doors->remote ? " and " + doors->remote->name() : "");
    manager.tell("READY=1\nSTATUS=" + (*host)->gpus());
    SignsOfLife signs;
    if (const auto started = signs.start(manager, [&] { return in_one_line(**host); }); !started)
      return give_up(started.error());
    (*host)->daemon().run();
  }
  *doors = {};
  server->reset();
  if (!quiet) fmt::print(stderr, "smartmig: the queue is saved; running jobs continue\n");
  return 0;
}

}  // namespace smartmig::cli
