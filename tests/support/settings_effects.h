// What can be seen from outside of a daemon with given settings: its places, what it keeps, its processes, where it
// listens. For settings_effects_test.cc, which has the table.
#pragma once
#include <unistd.h>

#include <regex>
#include <thread>

#include "http/api.h"
#include "http/listen_options.h"
#include "live/gpu/mps_driver.h"
#include "live/gpu_access.h"
#include "mig/catalog.h"
#include "support/emulated_daemon.h"
#include "support/fake_service.h"

namespace smartmig::settings_test {

struct Effect {
  std::string changed;                               // a line of TOML
  std::function<std::string(const Settings&)> seen;  // what a daemon with these settings does
  std::string both = "";                             // lines for the default and the other
};
using Effects = std::map<std::string, Effect>;

// ---- places

inline std::string gpus_of(const Settings& s) { return EmulatedDaemon(s).host().gpus(); }

inline std::string how_it_opens(Settings s) {
  TempDir dir;
  DaemonHostOptions options;
  s.places.state_dir = dir.path();
  s.places.driver = "emulate:1xa100-40gb";
  options.settings = std::move(s);
  options.clock = "virtual";
  options.in_process = true;
  const auto opened = DaemonHost::open(std::move(options));
  return opened ? "it runs" : opened.error().what;
}

inline std::string sms_of_a_soft_slice(const Settings& s) {
  DaemonHostOptions options;
  options.settings = s;
  const GpuModel& model = **Catalog::builtin().find("h200-141gb");
  return fmt::format("{} %", MpsDriver::thread_percentage(model, 0, gpu_access_of(options, "").overlap));
}

inline std::string soft_geometry(const Settings& s) {
  DaemonHostOptions options;
  options.settings = s;
  return gpu_access_of(options, "").halves ? "with halves" : "without";
}

inline std::string state_dir_of(const Settings& s) { return EmulatedDaemon(s).host().state_dir(); }

inline std::string mapped_jobs(Settings s) {
  TempDir dir;
  if (!s.places.mapping_dir.empty()) s.places.mapping_dir = dir.path() + "/" + s.places.mapping_dir;
  EmulatedDaemon d(s);
  d.submit(10);
  d.run(5);
  return std::filesystem::exists(dir.path() + "/mapped") ? "files" : "none";
}

// ---- what is kept: two jobs that ended long ago, with a log, and 1,500 events

inline std::string kept(Settings s) {
  TempDir dir;
  s.places.state_dir = dir.path();
  {
    const auto store = std::move(Store::open(dir.path() + "/queue.db").value());
    StoreBatch batch;
    for (const std::uint64_t id : {1, 2}) {
      JobRecord job;
      job.id = QueueId(id);
      job.spec.command = {"x"};
      job.spec.directory = "/";
      job.status.found(JobStatus::kDone);
      job.times.ended = from_unix_us(1'000'000);
      job.attempt = 1;
      batch.jobs.push_back(to_row(job, true));
      dir.file(fmt::format("spool/{}/1/log", id), "words\n");
    }
    for (std::uint64_t e = 1; e <= 1500; ++e) batch.events.push_back({e, 1'000'000, "{}"});
    EXPECT_TRUE(store->commit(batch));
  }
  EmulatedDaemon d(s, true);
  d.jump(days(40));
  int jobs = 0, logs = 0;
  for (const std::uint64_t id : {1, 2}) {
    jobs += d.host().store().job(id).value().has_value();
    logs += std::filesystem::exists(fmt::format("{}/spool/{}/1/log", dir.path(), id));
  }
  const auto events = d.host().store().events_after(0, 10'000).value();
  std::size_t old = 0;
  for (const EventRow& event : events) old += event.line == "{}";
  return fmt::format("{} jobs, {} logs, {} events", jobs, logs, old);
}

// ---- real processes

inline std::string end_of_a_process(Settings s, const std::string& script,
                                    const std::function<std::string(EmulatedDaemon&)>& see) {
  EmulatedDaemon d(s, true, "zero");
  JobSpec spec;
  spec.command = {"sh", "-c", script};
  spec.directory = "/";
  spec.environment = {"PATH=/usr/bin:/bin"};
  std::vector<std::string> warnings;
  EXPECT_TRUE(d.daemon().jobs().submit({::geteuid(), ::getegid(), true}, {spec}, warnings));
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!d.daemon().live_jobs().empty() && std::chrono::steady_clock::now() < limit) {
    d.daemon().step();
    d.host().clock().wait_until(std::min(d.daemon().next_due(), d.daemon().now() + Time(20'000)));
  }
  return see(d);
}

// How many of six jobs behind one that has the GPU are started ahead of their slice.
inline std::string started_ahead(const Settings& s) {
  TempDir dir;
  ::setenv("SMARTMIG_PRELOAD", dir.file("nothing.so", "").c_str(), 1);  // the loader passes over it with a word
  EmulatedDaemon d(s, true, "zero");
  const auto submit = [&](int slices, bool ahead) {
    JobSpec spec;
    spec.command = {"sleep", "20"};
    spec.directory = "/";
    spec.environment = {"PATH=/usr/bin:/bin"};
    spec.min_slices = slices;
    spec.host_mem_mib = 100;
    if (!ahead) spec.prelaunch = false;
    std::vector<std::string> warnings;
    EXPECT_TRUE(d.daemon().jobs().submit({::geteuid(), ::getegid(), true}, {spec}, warnings));
  };
  const auto step_until = [&](const std::function<bool()>& enough, int seconds) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    while (!enough() && std::chrono::steady_clock::now() < limit) {
      d.daemon().step();
      d.host().clock().wait_until(std::min(d.daemon().next_due(), d.daemon().now() + Time(20'000)));
    }
  };
  submit(7, false);
  step_until([&] { return d.running() == 1; }, 20);
  for (int i = 0; i < 6; ++i) submit(7, true);
  int ahead = 0;
  const auto count = [&] {
    ahead = 0;
    for (const auto& [id, job] : d.daemon().live_jobs()) ahead += job.prelaunch.began != kNotYet;
    return ahead == 4;
  };
  step_until(count, 2);
  for (const auto& [id, job] : std::map(d.daemon().live_jobs()))
    EXPECT_TRUE(d.daemon().jobs().cancel(id, "enough was seen"));
  step_until([&] { return d.daemon().live_jobs().empty(); }, 20);
  ::unsetenv("SMARTMIG_PRELOAD");
  return std::to_string(ahead);
}

inline std::string log_bytes(const Settings& s) {
  return end_of_a_process(s, "head -c 3000000 /dev/zero", [](EmulatedDaemon& d) {
    const std::string log = d.daemon().world().runner.log_path({1, 1});
    std::uintmax_t bytes = std::filesystem::file_size(log);
    if (std::filesystem::exists(log + ".1")) bytes += std::filesystem::file_size(log + ".1");
    return std::string(bytes >= 3'000'000 ? "all" : "its ends");
  });
}

inline std::string attempts_after_words(const Settings& s) {
  return end_of_a_process(s, "echo Speicher voll; exit 1",
                          [](EmulatedDaemon& d) { return d.ended(QueueId(1)).reason; });
}

// Of a job that outgrows the smallest slice half-way.
inline std::string early_restarts(const Settings& s) {
  EmulatedDaemon d(s);
  d.submit(1, [](JobSpec& spec) {
    spec.environment = {"SMARTMIG_EMULATED_MEMORY=0:1000,1:9000",
                        "SMARTMIG_EMULATED_SECONDS=1:1400,2:700,3:470,4:350,7:200"};
    spec.estimate = from_seconds(1400);
    spec.estimate_slices = 1;
  });
  d.run(1e4);
  return fmt::format("{}", d.daemon().counts().early_restarts);
}

inline std::string hook_ran(Settings s) {
  TempDir dir;
  const std::string program = dir.file("hook", fmt::format("#!/bin/sh\ncat > {}/told.part && mv {}/told.part {}/told\n",
                                                           dir.path(), dir.path(), dir.path()));
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  for (std::string* hook : {&s.hooks.on_finish, &s.hooks.mail})
    if (!hook->empty()) *hook = program;
  EmulatedDaemon d(s);
  d.submit(1, [](JobSpec& spec) { spec.mail = {MailEvent::kEnd}; });
  d.run(1e4);
  const bool any = !s.hooks.on_finish.empty() || !s.hooks.mail.empty();
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(any ? 20 : 0);
  while (std::chrono::steady_clock::now() < limit && !std::filesystem::exists(dir.path() + "/told"))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return std::filesystem::exists(dir.path() + "/told") ? "told" : "not told";
}

inline std::string slices_hook_ran(Settings s) {
  TempDir dir;
  if (!s.hooks.slices.empty()) s.hooks.slices = fmt::format("touch {}/told", dir.path());
  EmulatedDaemon d(s);
  d.submit(1, [](JobSpec& spec) { spec.max_slices = 1; });
  d.run(1e4);
  return std::filesystem::exists(dir.path() + "/told") ? "told" : "not told";
}

// ---- containers and servers

inline std::string ports_of_servers(const Settings& s) {
  EmulatedDaemon d(s);
  d.daemon().pause(true);
  std::string out;
  for (int i = 0; i < 2; ++i) {
    const QueueId id = d.submit(1, [](JobSpec& spec) { spec.port = 0; });
    out += id == kNoId ? " refused" : fmt::format(" {}", d.live(id).spec.port.value_or(-1));
  }
  return out;
}

inline std::string runtime_of_a_container(const Settings& s) {
  EmulatedDaemon d(s);
  d.daemon().pause(true);
  return d.live(d.submit(1, [](JobSpec& spec) { spec.container = "debian:12"; })).spec.container_runtime;
}

inline std::string idle_of_a_terminal(const Settings& s) {
  EmulatedDaemon d(s, true, "real");
  d.daemon().pause(true);
  const auto idle = d.live(d.submit(
                               1, [](JobSpec& spec) { spec.pty = true; }, ::geteuid()))
                        .spec.idle;
  return idle ? fmt::format("{}", seconds(*idle)) : "none";
}

// By a stand-in for apptainer that ends as the kernel's bit says.
inline std::string privileges_in_a_container(const Settings& s) {
  TempDir dir;
  const std::string program = dir.file("apptainer", "#!/bin/sh\ngrep -q 'NoNewPrivs:.*1' /proc/self/status\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  EmulatedDaemon d(s, true, "real");
  const QueueId id = d.submit(
      1,
      [&](JobSpec& spec) {
        spec.container = "/image.sif";
        spec.environment = {"PATH=" + dir.path() + ":/usr/bin:/bin"};
        spec.deadline = UnixTime{};
      },
      ::geteuid());
  d.run(1);
  const JobRecord job = d.ended(id);
  return job.exit.code == 0 ? "no new privileges" : fmt::format("code {}", job.exit.code);
}

// ---- listening

inline std::string socket_name(Settings s) {
  TempDir dir;
  s.places.socket = dir.path() + "/" + (s.places.socket.empty() ? "default" : s.places.socket);
  FakeService service;
  Api api(service, "0");
  const auto server = HttpServer::start(api, socket_options(s));
  return server ? (*server)->name().substr(dir.path().size()) : server.error().what;
}

// With a file of one token in the place of "TOKEN" and of another in that of "OTHER".
inline std::string tcp_answer(Settings s) {
  TempDir dir;
  for (const std::string name : {"TOKEN", "OTHER"}) {
    const std::string path = dir.file(name, std::string(16, name[0]) + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_read);
    for (std::string* file : {&s.tcp.token_file, &s.tcp.key})
      if (*file == name) *file = path;
  }
  if (s.tcp.listen.empty()) return "no TCP";
  const auto options = tcp_options(s);
  if (!options) return options.error().what;
  FakeService service;
  Api api(service, "0");
  if (const auto server = HttpServer::start(api, *options); !server)
    return std::regex_replace(server.error().what, std::regex(dir.path()), "");
  HttpGuardOptions guard{true, options->tokens, options->hosts, options->origins};
  HttpRequest request;
  request.method = "GET";
  request.path = "/v1/status";
  request.headers = {{"host", "gpu1.example.org"},
                     {"origin", "https://a.example"},
                     {"authorization", "Bearer " + std::string(16, 'T')}};
  std::string out;
  for (int with : {1, 2, 3}) {  // the host's name alone, a page at a known name, and both
    HttpRequest one = request;
    if (with == 1) one.headers.erase("origin");
    if (with == 2) one.headers["host"] = "127.0.0.1";
    const auto refused = refuse(one, guard);
    out += fmt::format(" {}", refused ? refused->status : 200);
  }
  return out;
}

// Of the page: what a stranger gets who reads and who changes something, and who shows the token of "OTHER".
inline std::string page_listening(Settings s) {
  TempDir dir;
  s.places.state_dir = dir.path();
  if (s.http.token_file == "OTHER") {
    s.http.token_file = dir.file("OTHER", std::string(16, 'O') + "\n");
    std::filesystem::permissions(s.http.token_file, std::filesystem::perms::owner_read);
  }
  if (s.http.listen.empty()) return "no page";
  const auto options = page_options(s);
  if (!options) return options.error().what;
  HttpGuardOptions guard{true, options->tokens, options->hosts, options->origins};
  guard.page = options->page;
  guard.open_reading = options->open_reading;
  std::string out;
  for (const char* method : {"GET", "DELETE", "token"}) {
    HttpRequest one;
    one.method = method == std::string_view("token") ? "DELETE" : method;
    one.path = "/v1/jobs/1";
    one.headers = {{"host", "127.0.0.1"}};
    if (method == std::string_view("token")) one.headers["authorization"] = "Bearer " + std::string(16, 'O');
    const auto refused = refuse(one, guard);
    out += fmt::format(" {}", refused ? refused->status : 200);
  }
  return out;
}

}  // namespace smartmig::settings_test
