// smartmig profile: one command on each slice size in turn, through a daemon, and the table rows that follow.
#include <fmt/format.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <iostream>

#include "base/text.h"
#include "cli/gpus/private_daemon.h"
#include "cli/gpus/profiling.h"
#include "cli/on_interrupt.h"
#include "cli/queue/daemon_options.h"
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
          {"energy_j", r.joules},
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
      "Runs a command on each slice size in turn, and measures its throughput, memory and energy. The throughput comes from the progress that the command prints (\"12.3 it/s\", \"step 12/100\" or a pattern of your own), or otherwise from its wall time. The rows it writes are for SMARTMIG_SPEEDS and SMARTMIG_POWER_KINDS (docs/profile.md). The jobs run under the running daemon, which may choose another size. With --emulate or --driver, smartmig starts a separate daemon that provides exactly the sizes to measure.",
      "smartmig profile --driver mps --kind llama-train-8 --repeat 3 -o speeds.csv -- python3 train.py --steps "
      "200");
  cmd.option("--sizes", sizes, "LIST", "profiles or sizes to measure, such as 1g,2g,7g (default: all plain profiles)");
  cmd.option("--repeat", repeat, "N", "number of runs on each size; the median counts");
  cmd.option("--kind", kind, "NAME",
             "name of the kind in the rows, such as model-phase-batch (default: the program's name)");
  cmd.option("--pattern", plan.pattern, "REGEX",
             "pattern of the progress: one group is a rate, two groups are the steps done and the total");
  cmd.option("--output", output, "FILE", "write speed rows to this file; they replace rows of the same kind and GPU")
      .alias("-o")
      .also("--output-file");
  cmd.option("--watts", watts_file, "FILE", "write power rows to this file");
  cmd.option("--power", power, "MODEL", "power model to write power rows for");
  cmd.option("--source", source, "TEXT", "text for the column source (default: host and date)");
  cmd.option("--emulate", emulate, "GPUS", "start a daemon with emulated GPUs, such as 1xa100-40gb");
  cmd.option("--driver", driver, "NAME", "start a daemon with this machine's GPUs: nvml or mps");
  cmd.option("--like", like, "MODEL", "with --driver mps: catalogue model whose profiles define the shares");
  cmd.flag("--adopt", adopt, "with --driver: take over slices that smartmig did not create");
  options.declare(cmd);
  cmd.command_line(words.rest, words.dashed);
  if (const auto end = cmd.ends(arguments)) return *end;
  if (repeat < 1 || repeat > 1000) return usage_error(invalid("--repeat {}: 1 to 1000", repeat));
  if (!emulate.empty() && !driver.empty()) return usage_error(invalid("give --emulate or --driver, not both"));
  if (const auto meter = ProgressMeter::make(plan.pattern); !meter) return usage_error(meter.error());
  if (words.rest.empty()) return usage_error(invalid("no command: give -- COMMAND..."));
  const auto submission = make_submission(words, std::cin, unix_now());
  if (!submission) return usage_error(submission.error());
  plan.spec = submission->jobs[0];
  if (plan.spec.contains("array")) return usage_error(invalid("profile takes one command, not an array"));
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
