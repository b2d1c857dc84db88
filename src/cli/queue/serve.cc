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
#include "serve/config/places.h"
#include "serve/daemon/daemon_host.h"
#include "serve/http/api.h"
#include "serve/http/http_server.h"
#include "serve/http/listen_options.h"
#include "serve/http/page.h"

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
                         fmt::print(stderr, "smartmig: the configuration stays as it was: {}\n", done.error().what);
                       else
                         fmt::print(stderr, "smartmig: configuration read again\n");
                       manager.tell("READY=1");
                       continue;
                     }
                     manager.tell("STOPPING=1\nSTATUS=going; running jobs go on");
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

// "8 x a100-40gb: 5 jobs run, 12 wait", from the owner of the queue: no answer means that it hangs. Empty: it goes down.
std::string in_one_line(DaemonHost& host) {
  const auto words = host.daemon().ask<std::string>([&](Daemon& daemon) -> Result<std::string> {
    std::size_t waiting = 0;
    for (const auto& [id, job] : daemon.live_jobs()) waiting += job.status <= JobStatus::kQueued;
    return fmt::format("{}: {} jobs run, {} wait", host.gpus(), daemon.live_jobs().size() - waiting, waiting);
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
      "Runs the queue: takes jobs over a Unix socket, carves slices for them, runs them, and accounts for "
      "every joule.\nState is durable: jobs run on while the daemon is away, and the next one goes on where "
      "this one was.\nSIGHUP reads the configuration again; SIGTERM ends the daemon and leaves the jobs.",
      "smartmig serve --emulate 8xa100-40gb &\n  smartmig run -- sh -c 'echo $CUDA_VISIBLE_DEVICES'");
  command.option("--config", config_file, "FILE", "TOML; smartmig serve --gen-config shows every setting");
  command.flag("--gen-config", gen_config, "print the effective configuration and stop");
  command.option("--emulate", emulate, "GPUS", "emulated GPUs instead of this machine's, such as 8xa100-40gb");
  command.option("--driver", driver, "NAME", "nvml (MIG) or mps (soft slices, not isolated)");
  command.option("--socket", socket, "PATH", "where to listen").env("SMARTMIG_SOCKET");
  command.flag("--http", http, "the page in a browser, too: http://127.0.0.1:7480/, to read; a token signs in");
  command.option("--http-port", http_port, "PORT", "--http at another port of 127.0.0.1; 0: any free one");
  command.option("--state", state, "DIR", "where the queue, logs and ledgers are kept").env("SMARTMIG_STATE");
  command.option("--policy", policy, "POLICY", "who decides, listed below");
  declare_policy_parameters(command, parameters);
  command.option("--shadow", shadow, "NAME", "another policy, to be told what it would have done and cost");
  command.option("--power", power, "MODEL", "power model of the GPUs; auto: the default of each GPU model");
  command.option("--like", station_options.like, "MODEL", "mps: the catalogue model whose profiles stand for shares");
  command.option("--nvml", station_options.nvml, "FILE", "the NVML library, else libnvidia-ml.so.1");
  command.flag("--adopt", station_options.adopt, "take over slices that somebody else made");
  command.flag("--new-queue", station_options.new_queue,
               "begin a new queue where the old one is gone and its jobs are there; those that run are taken over");
  command.option("--clock", clock, "MODE",
                 "with --emulate: real, zero (reshaping takes no time) or virtual (time jumps to what happens next)");
  command.flag("--without-processes", station_options.in_process,
               "with --emulate: jobs are not run, each ends when it was predicted to");
  command.flag("--quiet", quiet, "no words at the start");
  list_policies(command);
  const auto parsed = command.parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;

  const auto read = [=]() -> Result<Settings> {
    Settings settings;
    if (!config_file.empty()) {
      SMARTMIG_TRY(settings, read_settings(config_file));
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
  if (!quiet) fmt::print(stderr, "smartmig: the queue is stored; running jobs go on\n");
  return 0;
}

}  // namespace smartmig::cli
