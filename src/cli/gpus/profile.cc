// smartmig profile: one command on each slice size in turn, through a daemon, and the table rows that follow.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iostream>

#include "base/text.h"
#include "cli/gpus/private_daemon.h"
#include "cli/on_interrupt.h"
#include "cli/queue/daemon_options.h"
#include "cli/queue/follow.h"
#include "cli/queue/job_words.h"
#include "cli/queue/submission.h"
#include "cli/row_file.h"
#include "cli/table.h"
#include "cli/time_words.h"
#include "cli/verbs.h"
#include "eval/profile_rows.h"
#include "eval/progress_meter.h"
#include "mig/catalog.h"
#include "model/speed.h"

namespace smartmig::cli {
namespace {

constexpr int kTries = 3;

double profile_clock_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct ProfilePlan {
  Json spec;  // but memory and slices
  std::string pattern;
  int repeat = 1;
};

// The job's end, with its output read by the meter as it came.
Result<Json> watch(DaemonClient& client, std::uint64_t id, ProgressMeter& meter) {
  const std::string path = fmt::format("/v1/jobs/{}", id);
  int attempt = 0;
  for (;;) {
    SMARTMIG_TRY(Json job, patient_get(client, path));
    const int last = int(number_at(job, "attempt").value_or(0));
    const bool ended = is_final(job);
    if (last > attempt) {
      attempt = last;
      const auto read =
          client.stream(fmt::format("{}/log?attempt={}&offset=0&follow=1", path, attempt), [&](std::string_view piece) {
            meter.feed(profile_clock_s(), piece);
            return true;
          });
      if (!read && read.error().code != Error::kNotFound) return read.error();
      meter.finish(profile_clock_s());
      continue;
    }
    if (ended) return job;
    pause_s(0.1);
  }
}

// Joules come with the board's samples: those of the last moments a little after the end.
Result<Json> settled(DaemonClient& client, std::uint64_t id) {
  double before = -1;
  for (int i = 0;; ++i) {
    SMARTMIG_TRY(Json job, patient_get(client, fmt::format("/v1/jobs/{}", id)));
    const double joules = number_at(object_at(job, "energy"), "joules_j").value_or(0);
    if (i == 4 || (i > 1 && joules == before)) return job;
    before = joules;
    pause_s(1.2);
  }
}

class Profiling {
 public:
  Profiling(const ProfilePlan& plan, std::vector<std::string>& notes) : plan_(plan), notes_(notes) {}

  Result<Ok> size(DaemonClient& client, const Profile& wanted) {
    int wrong = 0;
    for (int good = 0; good < plan_.repeat;) {
      SMARTMIG_TRY(const bool right, once(client, wanted));
      if (given_up_) return Ok{};
      if (right) {
        ++good;
      } else if (++wrong == kTries) {
        note(
            fmt::format("{} is not measured: the daemon gave another size {} times; use --emulate or --driver, which "
                        "measure with a daemon of their own",
                        wanted.name, kTries));
        return Ok{};
      }
    }
    return Ok{};
  }
  const std::vector<ProfileRun>& runs() const { return runs_; }

  // From another thread: cancels what runs and lets nothing more begin.
  void give_up(Result<DaemonClient> client) {
    stopped_ = true;
    if (const std::uint64_t id = job_; id && client)
      if (const auto gone = client->remove(fmt::format("/v1/jobs/{}", id)); !gone)
        fmt::print(stderr, "smartmig: {}\n", gone.error().what);
  }

 private:
  void note(std::string words) {
    fmt::print(stderr, "smartmig: {}\n", words);
    notes_.push_back(std::move(words));
  }

  // Whether it ran on the size asked for. given_up_: it does not run there.
  Result<bool> once(DaemonClient& client, const Profile& wanted) {
    given_up_ = stopped_;
    if (given_up_) return false;
    Json spec = plan_.spec;
    spec["min_slices"] = wanted.compute_slices;
    spec["name"] = "profile " + wanted.name;
    if (wanted.memory_mib > 0) spec["mem_mib"] = wanted.memory_mib;
    SMARTMIG_TRY(const Json answer, client.post("/v1/jobs", spec));
    const Json& ids = list_at(answer, "ids");
    if (ids.empty() || !ids[0].is_number_unsigned())
      return invalid("the daemon's answer names no job: is it of another version?");
    const auto id = ids[0].get<std::uint64_t>();
    job_ = id;
    SMARTMIG_TRY(ProgressMeter meter, ProgressMeter::make(plan_.pattern));
    SMARTMIG_TRY(Json job, watch(client, id, meter));
    job_ = 0;
    const std::string slice = text_at(job, "slice"), profile = slice.substr(0, slice.find('@'));
    if (text_at(job, "state") != "done") {
      note(fmt::format("{} is not measured: {}", wanted.name, job_sentence(job, seconds(unix_now()))));
      given_up_ = true;
      return false;
    }
    if (number_at(job, "oom_restarts").value_or(0) > 0 || number_at(job, "preemptions").value_or(0) > 0 ||
        number_at(job, "attempt").value_or(1) > 1) {
      note(fmt::format("job {} was started more than once, so its time says nothing of {}: it may need more memory", id,
                       wanted.name));
      given_up_ = true;
      return false;
    }
    SMARTMIG_TRY(job, settled(client, id));
    ProfileRun run;
    SMARTMIG_TRY(run.gpu, model_of(client, int(number_at(job, "gpu").value_or(0))));
    run.profile = profile;
    run.seconds = number_at(job, "ended_at").value_or(0) - number_at(job, "started_at").value_or(0);
    run.joules = number_at(object_at(job, "energy"), "joules_j").value_or(0);
    if (const auto peak = number_at(job, "peak_mib"); peak && *peak > 0) run.peak_mib = int(*peak);
    if (const auto speed = meter.speed()) {
      run.per_s = speed->per_s;
      run.unit = speed->unit;
      if (speed->total && speed->per_s > 0) run.launch_s = std::max(0.0, run.seconds - *speed->total / speed->per_s);
    }
    if (run.seconds <= 0) return invalid("job {} took no time: there is nothing to measure", id);
    runs_.push_back(std::move(run));
    if (profile == wanted.name) return true;
    fmt::print(stderr, "smartmig: the daemon gave job {} {} where {} was asked for\n", id, profile, wanted.name);
    return false;
  }

  static Result<std::string> model_of(DaemonClient& client, int gpu) {
    SMARTMIG_TRY(const Json answer, client.get("/v1/gpus"));
    for (const Json& board : list_at(answer, "gpus"))
      if (int(number_at(board, "index").value_or(-1)) == gpu) return text_at(board, "model");
    return not_found("the daemon names no GPU {}", gpu);
  }

  const ProfilePlan& plan_;
  std::vector<std::string>& notes_;
  std::vector<ProfileRun> runs_;
  bool given_up_ = false;
  std::atomic<bool> stopped_{false};
  std::atomic<std::uint64_t> job_{0};  // that runs
};

Result<std::vector<Profile>> profiles_of(DaemonClient& client, const std::string& text) {
  SMARTMIG_TRY(const Json answer, client.get("/v1/gpus"));
  const Json& boards = list_at(answer, "gpus");
  if (boards.empty()) return not_found("the daemon has no GPU");
  SMARTMIG_TRY(const auto gpu, Catalog::builtin().find(text_at(boards[0], "model")));
  std::vector<Profile> out;
  if (text.empty()) {
    for (const Profile& p : gpu->profiles())
      if (p.variant == Variant::kPlain) out.push_back(p);
    return out;
  }
  for (const std::string_view word : split(text, ',')) {
    const int found = gpu->find_profile(trim(word));
    if (found < 0)
      return invalid("{} has no profile '{}'; smartmig geometry {} lists them", gpu->name(), trim(word), gpu->name());
    out.push_back(gpu->profiles()[std::size_t(found)]);
  }
  return out;
}

std::string measured_here() {
  char host[256] = "?";
  ::gethostname(host, sizeof host - 1);
  const std::time_t now = std::time(nullptr);
  std::tm date{};
  ::gmtime_r(&now, &date);
  return fmt::format("measured by smartmig profile on {}, {:04}-{:02}-{:02}", host, date.tm_year + 1900,
                     date.tm_mon + 1, date.tm_mday);
}

Json profile_json(const ProfileResult& r) {
  return {{"gpu", r.gpu},
          {"profile", r.profile},
          {"runs", r.runs},
          {"seconds_s", r.seconds},
          {"throughput", r.throughput},
          {"unit", r.unit},
          {"spread", r.spread},
          {"peak_mib", r.peak_mib < 0 ? Json() : Json(r.peak_mib)},
          {"launch_s", r.launch_s < 0 ? Json() : Json(r.launch_s)},
          {"joules_j", r.joules},
          {"active_w", r.active_w}};
}

std::string table_of(const std::vector<ProfileResult>& results) {
  double best = 0;
  for (const ProfileResult& r : results) best = std::max(best, r.throughput);
  Table table({"profile", "runs", "seconds", "throughput", "of the best", "spread", "launch s", "peak MiB",
               "J attributed", "W above idle"});
  for (const ProfileResult& r : results)
    table.add({r.profile, fmt::format("{}", r.runs), fmt::format("{:.2f}", r.seconds),
               fmt::format("{:.4g} {}", r.throughput, r.unit), fmt::format("{:.1f} %", 100 * r.throughput / best),
               fmt::format("{:.1f} %", 100 * r.spread), r.launch_s < 0 ? "-" : fmt::format("{:.2f}", r.launch_s),
               r.peak_mib < 0 ? "-" : fmt::format("{}", r.peak_mib), fmt::format("{:.1f}", r.joules),
               fmt::format("{:.1f}", r.active_w)});
  return table.text();
}

}  // namespace

int run_profile(const Arguments& arguments) {
  DaemonOptions options;
  Words words;
  ProfilePlan plan;
  std::string sizes, kind, output, watts_file, power = "auto", source, emulate, driver, like;
  std::int64_t repeat = 1;
  bool adopt = false;
  Command cmd(
      "profile", "-- COMMAND...",
      "Runs a command on each slice size in turn and measures throughput, memory and energy: by the progress it "
      "prints\n(\"12.3 it/s\", \"step 12/100\", a pattern of your own), else by its wall time. Writes rows that "
      "SMARTMIG_SPEEDS and\nSMARTMIG_POWER_KINDS take (docs/profile.md). Jobs go through the running daemon, "
      "which may choose another size;\nwith --emulate or --driver a daemon for this alone holds exactly the "
      "size that is measured.",
      "smartmig profile --driver mps --kind llama-train-8 --repeat 3 -o speeds.csv -- python3 train.py --steps "
      "200");
  cmd.option("--sizes", sizes, "LIST", "profiles or sizes: 1g,2g,7g; every plain one if not given");
  cmd.option("--repeat", repeat, "N", "runs on each size; medians count");
  cmd.option("--kind", kind, "NAME", "what the rows call it: model-phase-batch; the program's name if not given");
  cmd.option("--pattern", plan.pattern, "REGEX", "one group: a rate; two: steps done and in all");
  cmd.option("--output-file", output, "FILE", "write speed rows there; rows of the same kind and GPU are replaced")
      .alias("-o");
  cmd.option("--watts", watts_file, "FILE", "write power rows there");
  cmd.option("--power", power, "MODEL", "power model that the power rows are for");
  cmd.option("--source", source, "TEXT", "what the rows name as their source; host and date if not given");
  cmd.option("--emulate", emulate, "GPUS", "a daemon of our own with emulated GPUs, such as 1xa100-40gb");
  cmd.option("--driver", driver, "NAME", "a daemon of our own with this machine's GPUs: nvml or mps");
  cmd.option("--like", like, "MODEL", "with --driver mps: the catalogue model whose profiles stand for shares");
  cmd.flag("--adopt", adopt, "with --driver: take over slices that somebody else made");
  options.declare(cmd);
  cmd.command_line(words.rest, words.dashed);
  const auto parsed = cmd.parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;
  if (repeat < 1 || repeat > 1000) return usage_error(invalid("--repeat {}: 1 to 1000", repeat));
  if (!emulate.empty() && !driver.empty()) return usage_error(invalid("--emulate or --driver, not both"));
  if (const auto meter = ProgressMeter::make(plan.pattern); !meter) return usage_error(meter.error());
  if (words.rest.empty()) return usage_error(invalid("what is to run is missing: -- COMMAND..."));
  const auto submission = make_submission(words, std::cin, unix_now());
  if (!submission) return usage_error(submission.error());
  plan.spec = submission->jobs[0];
  if (plan.spec.contains("array")) return usage_error(invalid("an array is many jobs: profile one command"));
  plan.repeat = int(repeat);
  if (kind.empty()) kind = std::filesystem::path(words.rest[0]).filename().string();
  if (SpeedTable::builtin().has(kind)) plan.spec["kind"] = kind;
  if (source.empty()) source = measured_here();

  std::vector<std::string> notes;
  Profiling profiling(plan, notes);
  if (emulate.empty() && driver.empty()) {
    auto client = options.connect();
    if (!client) return failure(client.error());
    const auto wanted = profiles_of(*client, sizes);
    if (!wanted) return failure(wanted.error());
    OnInterrupt guard([&] { profiling.give_up(options.connect()); });
    for (const Profile& p : *wanted) {
      const auto measured = profiling.size(*client, p);
      if (guard.signal()) return 128 + guard.signal();
      if (!measured) return failure(measured.error());
    }
  } else {
    std::vector<std::string> serve =
        emulate.empty() ? std::vector<std::string>{"--driver", driver} : std::vector<std::string>{"--emulate", emulate};
    if (!like.empty()) serve.insert(serve.end(), {"--like", like});
    if (adopt) serve.push_back("--adopt");
    auto daemon = PrivateDaemon::prepare(serve);
    if (!daemon) return failure(daemon.error());
    OnInterrupt guard([&] { profiling.give_up(daemon->connect()); });
    auto client = daemon->start("policy = \"none+edf\"\n");
    if (!client) return failure(client.error());
    const auto wanted = profiles_of(*client, sizes);
    if (!wanted) return failure(wanted.error());
    for (const Profile& p : *wanted) {
      client = daemon->start(fmt::format("policy = \"static+edf\"\nlayouts = \"{}\"\n", p.name));
      if (!client) return failure(client.error());
      const auto measured = profiling.size(*client, p);
      if (guard.signal()) return 128 + guard.signal();
      if (!measured) return failure(measured.error());
    }
  }

  const auto results = profile_results(profiling.runs());
  if (results.empty()) return failure(invalid("nothing was measured"));
  std::string why;
  const std::string watt_rows = profile_power_rows(kind, results, power, source, why);
  if (!output.empty())
    if (const auto written = put_rows(output, profile_speed_rows(kind, results, source), {"kind", "gpu"}); !written)
      return failure(written.error());
  if (!watts_file.empty()) {
    if (watt_rows.empty()) return failure(invalid("{}", why));
    if (const auto written = put_rows(watts_file, watt_rows, {"model", "kind", "profile"}); !written)
      return failure(written.error());
  }
  if (options.json) {
    Json rows = Json::array();
    for (const ProfileResult& r : results) rows.push_back(profile_json(r));
    print_json({{"kind", kind}, {"source", source}, {"results", rows}, {"notes", notes}});
    return 0;
  }
  fmt::print("{} on {}\n\n{}", kind, results[0].gpu, table_of(results));
  if (!output.empty()) fmt::print("\nspeed rows in {}: use them with SMARTMIG_SPEEDS={}\n", output, output);
  if (!watts_file.empty())
    fmt::print("power rows in {}: use them with SMARTMIG_POWER_KINDS={}\n", watts_file, watts_file);
  return 0;
}

}  // namespace smartmig::cli
