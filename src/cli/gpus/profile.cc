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
