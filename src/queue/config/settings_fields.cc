#include <fmt/format.h>

#include "base/text.h"
#include "live/gpu/memory_size.h"
#include "model/job.h"
#include "queue/config/settings_file.h"

namespace smartmig {
namespace {

constexpr std::int64_t kMany = 1'000'000'000'000;

std::string toml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 32 || c == 127)
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + "\"";
}

std::string duration_text(Time t) {
  const std::int64_t us = t.count();
  if (us % 3'600'000'000 == 0 && us != 0) return fmt::format("\"{}h\"", us / 3'600'000'000);
  if (us % 60'000'000 == 0 && us != 0) return fmt::format("\"{}m\"", us / 60'000'000);
  if (us % 1'000'000 == 0) return fmt::format("\"{}s\"", us / 1'000'000);
  std::string text = fmt::format("{}.{:06}", us / 1'000'000, us % 1'000'000);
  text.erase(text.find_last_not_of('0') + 1);
  return fmt::format("\"{}s\"", text);
}

SettingField text_field(std::string key, std::string help, std::string& target) {
  return {std::move(key), std::move(help), true,
          [&target](const ConfigValue& value) -> Result<Ok> {
            if (value.kind != ConfigValue::kText) return invalid("must be a string in quotes");
            for (const char c : value.text)
              if (static_cast<unsigned char>(c) < 32 || c == 127) return invalid("contains a control character");
            target = value.text;
            return Ok{};
          },
          [&target] { return toml_text(target); }};
}

SettingField flag(std::string key, std::string help, bool& target) {
  return {std::move(key), std::move(help), true,
          [&target](const ConfigValue& value) -> Result<Ok> {
            if (value.kind != ConfigValue::kBool) return invalid("must be true or false");
            target = value.yes;
            return Ok{};
          },
          [&target] { return std::string(target ? "true" : "false"); }};
}

template <class Whole>
SettingField whole(std::string key, std::string help, Whole& target, std::int64_t low, std::int64_t high) {
  return {std::move(key), std::move(help), true,
          [&target, low, high](const ConfigValue& value) -> Result<Ok> {
            if (value.kind != ConfigValue::kWhole || value.whole < low || value.whole > high)
              return invalid("must be a whole number from {} to {}", low, high);
            target = Whole(value.whole);
            return Ok{};
          },
          [&target] { return fmt::format("{}", target); }};
}

Result<double> number_of(const ConfigValue& value, double low, double high) {
  const double number = value.kind == ConfigValue::kWhole ? double(value.whole) : value.number;
  if ((value.kind != ConfigValue::kWhole && value.kind != ConfigValue::kNumber) || !(number >= low && number <= high))
    return invalid("must be a number from {} to {}", low, high);
  return number;
}

SettingField number_field(std::string key, std::string help, double& target, double low, double high) {
  return {std::move(key), std::move(help), true,
          [&target, low, high](const ConfigValue& value) -> Result<Ok> {
            SMARTMIG_TRY(target, number_of(value, low, high));
            return Ok{};
          },
          [&target] { return fmt::format("{}", target); }};
}

SettingField duration(std::string key, std::string help, Time& target, Time low, Time high) {
  return {std::move(key), std::move(help), true,
          [&target, low, high](const ConfigValue& value) -> Result<Ok> {
            std::optional<Time> out;
            if (value.kind == ConfigValue::kText) out = parse_duration(value.text);
            if (!out || *out < low || *out > high)
              return invalid("must be a duration in quotes, from {} to {}, with its unit: \"90s\", \"20m\", \"2h\"",
                             duration_text(low), duration_text(high));
            target = *out;
            return Ok{};
          },
          [&target] { return duration_text(target); }};
}

// "auto" is `automatic`.
SettingField memory(std::string key, std::string help, int& target, int automatic) {
  return {
      std::move(key), std::move(help), true,
      [&target, automatic](const ConfigValue& value) -> Result<Ok> {
        std::optional<int> out;
        if (value.kind == ConfigValue::kText) out = value.text == "auto" ? automatic : parse_mib(value.text);
        if (value.kind == ConfigValue::kWhole && value.whole >= 0 && value.whole <= kMaxMemoryMib)
          out = int(value.whole);
        if (!out || (*out == 0 && automatic != 0)) return invalid("must be \"auto\", \"18G\" or a number of MiB");
        target = *out;
        return Ok{};
      },
      [&target, automatic] { return target == automatic ? std::string("\"auto\"") : fmt::format("\"{}M\"", target); }};
}

SettingField gpu_means(std::string key, std::string help, std::string& target) {
  return {std::move(key), std::move(help), true,
          [&target](const ConfigValue& value) -> Result<Ok> {
            if (value.kind != ConfigValue::kText || (value.text != "any" && value.text != "whole"))
              return invalid("must be \"any\" or \"whole\"");
            target = value.text;
            return Ok{};
          },
          [&target] { return toml_text(target); }};
}

SettingField cores(std::string key, std::string help, double& target) {
  return {std::move(key), std::move(help), true,
          [&target](const ConfigValue& value) -> Result<Ok> {
            if (value.kind == ConfigValue::kText && value.text == "auto") {
              target = 0;
              return Ok{};
            }
            const auto out = number_of(value, 0, 65'536);
            if (!out) return invalid("must be \"auto\" or a number of cores up to 65536");
            target = *out;
            return Ok{};
          },
          [&target] { return target == 0 ? std::string("\"auto\"") : fmt::format("{}", target); }};
}

SettingField texts(std::string key, std::string help, std::vector<std::string>& target) {
  return {std::move(key), std::move(help), true,
          [&target](const ConfigValue& value) -> Result<Ok> {
            if (value.kind != ConfigValue::kTexts) return invalid("must be a list of strings: [\"a\", \"b\"]");
            for (const std::string& one : value.texts)
              if (one.empty()) return invalid("contains an empty string");
            target = value.texts;
            return Ok{};
          },
          [&target] {
            std::vector<std::string> parts;
            for (const std::string& one : target) parts.push_back(toml_text(one));
            return fmt::format("[{}]", fmt::join(parts, ", "));
          }};
}

SettingField price_curve(std::string key, std::string help, PriceCurve& target) {
  return {std::move(key), std::move(help), true,
          [&target](const ConfigValue& value) -> Result<Ok> {
            if (value.kind != ConfigValue::kText) return invalid("must be a string: \"0:0.18 7:0.31 22:0.18\"");
            SMARTMIG_TRY(target, PriceCurve::parse(value.text));
            return Ok{};
          },
          [&target] { return toml_text(target.text()); }};
}

SettingField fixed(SettingField field) {
  field.reloadable = false;
  return field;
}

}  // namespace

std::vector<SettingField> setting_fields(Settings& c) {
  const Time zero{0}, second{1'000'000}, day{86'400'000'000};
  return {
      fixed(text_field("socket",
                       "Unix socket; empty: /run/smartmig/smartmig.sock for root, otherwise in the runtime directory",
                       c.places.socket)),
      fixed(text_field("state_dir",
                       "queue, logs and spool; empty: /var/lib/smartmig for root, otherwise ~/.local/state/smartmig",
                       c.places.state_dir)),
      fixed(text_field("driver", "nvml, mps, or emulate:8xa100-40gb for emulated GPUs", c.places.driver)),
      text_field("policy", "policy: best, planner, batch, meanfield+cedf, static+cedf, ...", c.policy.name),
      text_field("layouts", "layouts of a static policy: 3, 4g+2g+1g, or a layouts file", c.policy.layouts),
      text_field("weights", "weights file of market+PLACER; empty: the shipped one", c.policy.weights),
      text_field("network", "network file of meanfield; empty: the shipped one", c.policy.network),
      text_field("shadow", "second policy, whose decisions are logged and evaluated but not carried out; empty: none",
                 c.policy.shadow),
      flag("guard", "if a decision is illegal or worse than that of the plain policies, use theirs and count it",
           c.policy.guard),
      duration(
          "gather",
          "for best: how long to wait after the last arrival before placing a burst of jobs without deadlines that fills the fleet",
          c.policy.gather, zero, 60 * second),
      text_field("mapping_dir", "job-mapping files for dcgm-exporter --hpc-job-mapping-dir; empty: none",
                 c.places.mapping_dir),
      fixed(texts("tables.speeds",
                  "your own speed tables in the format of data/speeds.csv; later files take precedence",
                  c.places.speeds)),
      fixed(texts("tables.power_kinds", "your own power tables in the format of data/power_kinds.csv",
                  c.places.power_kinds)),
      whole("overtaking.bound", "number of later jobs that may overtake a waiting job before GPUs drain for it",
            c.overtaking.bound, 0, 1'000'000),
      duration("overtaking.patience", "time that a job waits for a fitting slice before GPUs drain for it",
               c.overtaking.patience, zero, 365 * day),
      fixed(text_field("power.model",
                       "power model of the GPUs: auto, a name such as h200, linear:IDLE_W:W_PER_SLICE:CAP_W, or "
                       "fitted (to this machine's counters)",
                       c.power.model)),
      number_field("power.board_cap_w", "cap on the modelled watts of one board; 0: no cap", c.power.board_cap_w, 0,
                   1e6),
      number_field("power.fleet_cap_w", "cap on the modelled watts of all boards together; 0: no cap",
                   c.power.fleet_cap_w, 0, 1e9),
      number_field("prices.energy_per_kwh", "price of a kilowatt-hour; costs are shown if a price is above 0",
                   c.prices.energy_per_kwh, 0, 1e6),
      price_curve("prices.energy_by_hour",
                  "price of a kilowatt-hour by hour of the day: \"0:0.18 7:0.31 22:0.18\"; empty: one "
                  "price all day",
                  c.energy_by_hour),
      number_field("prices.late_per_hour", "price of an hour that a job with a deadline is late",
                   c.prices.late_per_hour, 0, 1e9),
      duration("defaults.estimate", "run time of an unknown job on a whole GPU", c.defaults.estimate, second,
               365 * day),
      number_field(
          "defaults.slack",
          "with several users, a job is due at submission + slack x estimate, or at its deadline if that is earlier",
          c.defaults.slack, 0, 1e6),
      flag("defaults.patient", "default of --patient: jobs may wait to save energy while they meet their deadlines",
           c.defaults.patient),
      flag("defaults.exact_estimates", "use the users' run times without correcting them from earlier jobs",
           c.defaults.exact_estimates),
      flag("defaults.exact_memory", "default of --exact-memory: measure CUDA and tensor memory exactly",
           c.defaults.exact_memory),
      duration("defaults.grace", "default of --grace: time between the stop signal and the kill", c.defaults.grace,
               zero, day),
      memory("defaults.mem", "GPU memory of a job without --mem; auto: learned from its command's history",
             c.defaults.mem_mib, -1),
      gpu_means("defaults.gpu_means", "meaning of --gpus 1 and gpu:1: any (any slice that fits) or whole (a whole GPU)",
                c.defaults.gpu_means),
      whole("defaults.max_slices",
            "maximum of compute slices for a job without a size, unless its memory needs more; 0: no maximum",
            c.defaults.max_slices, 0, kMaxComputeSlices),
      whole("defaults.pty_max_slices", "the same maximum for run --pty", c.defaults.pty_max_slices, 0,
            kMaxComputeSlices),
      duration("defaults.pty_idle", "default of --idle for run --pty; 0s: never", c.defaults.pty_idle, zero, 365 * day),
      text_field("containers.runtime",
                 "container runtime if neither the job nor the image determines it: podman, apptainer or singularity",
                 c.containers.runtime),
      flag("containers.new_privileges",
           "let jobs in containers use setuid programs, so that rootless podman maps all user ids of an image",
           c.containers.new_privileges),
      whole("ports.first", "lowest port for --port auto", c.ports.first, 1024, 65'535),
      whole("ports.last", "highest port for --port auto", c.ports.last, 1024, 65'535),
      whole("limits.user_slices",
            "maximum of compute slices that the running jobs of one user may request; 0: no limit",
            c.limits.user_slices, 0, 1'000'000),
      whole("limits.user_queued", "maximum number of waiting jobs of one user; 0: no limit", c.limits.user_queued, 0,
            10'000'000),
      whole(
          "limits.user_store",
          "maximum size in MiB of one user's commands, environments and scripts; above it, smartmig removes the oldest environments of ended jobs; 0: no limit",
          c.limits.user_store_mib, 0, 1'000'000),
      whole("limits.queue", "maximum number of waiting jobs of all users", c.limits.queue, 1, 10'000'000),
      fixed(whole("limits.window", "number of waiting jobs that a decision considers, most urgent first",
                  c.limits.window, 1, 1'000'000)),
      {"priorities", "user = number: added to the priority of that user's jobs", true, nullptr, nullptr},
      {"quota", "quotas of users, Unix groups and projects: [quota.group.NAME] slices, gpu_hours, energy_kwh", true,
       nullptr, nullptr},
      cores("host.cpus", "cores that jobs share; auto: all cores", c.host.cpus),
      memory("host.mem", "host memory that jobs share; auto: all memory", c.host.mem_mib, 0),
      flag("prelaunch.all",
           "default of --prelaunch: start processes before the slice is free; they pause at their first CUDA call",
           c.prelaunch.all),
      whole("prelaunch.jobs", "maximum number of prelaunched jobs at a time; 0: none", c.prelaunch.jobs, 0, 10'000),
      fixed(number_field("mps.overlap",
                         "mps: a slice may use this many times its share of the SMs while neighbours leave them "
                         "idle",
                         c.mps.overlap, 1, 100)),
      fixed(flag("mps.halves",
                 "mps: also offer slices of half the smallest memory, for jobs that are known to fit; "
                 "needs mps.overlap of at least 2",
                 c.mps.halves)),
      duration("energy.sample", "interval between readings of the boards' energy counters", c.energy.sample,
               Time{10'000}, Time{60'000'000}),
      fixed(whole("logs.max_mib", "MiB kept of one attempt's log (its beginning and its end)", c.logs.max_mib, 1,
                  1'000'000)),
      whole("logs.keep_days", "days until the logs of a finished job are deleted", c.logs.keep_days, 1, 36'500),
      whole("journal.max_events", "events kept", c.journal.max_events, 1'000, kMany),
      whole("journal.keep_days", "days until an event is deleted", c.journal.keep_days, 1, 36'500),
      whole("jobs.max", "maximum number of finished jobs to keep", c.jobs.max, 1, 100'000'000),
      whole("jobs.keep_days", "days until a finished job is deleted", c.jobs.keep_days, 1, 36'500),
      fixed(text_field("tcp.listen", "ADDRESS:PORT to listen on besides the socket; empty: no TCP", c.tcp.listen)),
      fixed(text_field("tcp.token_file", "file of client tokens; required with tcp.listen", c.tcp.token_file)),
      fixed(text_field("tcp.certificate", "PEM file of the certificate; required with tcp.tls", c.tcp.certificate)),
      fixed(text_field("tcp.key", "PEM file of the certificate's private key", c.tcp.key)),
      fixed(flag("tcp.tls", "set to false only behind a proxy that uses TLS", c.tcp.tls)),
      fixed(texts("tcp.hosts", "other names that clients use for this machine", c.tcp.hosts)),
      fixed(texts("tcp.allowed_origins", "web pages that may call the API: [\"https://ops.example.org\"]",
                  c.tcp.allowed_origins)),
      fixed(text_field("http.listen", "loopback ADDRESS:PORT of the page in a browser; empty: none", c.http.listen)),
      fixed(text_field("http.token_file", "file of tokens for signing in; empty: page-token in the state directory",
                       c.http.token_file)),
      text_field("hooks.on_finish", "program to run with a finished job's JSON on its standard input; empty: none",
                 c.hooks.on_finish),
      text_field("hooks.mail",
                 "program to run for --mail-type, with {event, mail_user, job} on its standard input; "
                 "empty: none",
                 c.hooks.mail),
      fixed(text_field("hooks.slices",
                       "command for sh, run after a slice was created and before a job gets it; empty: none",
                       c.hooks.slices)),
      texts("oom.patterns", "texts at the end of a failed job's log that show that it ran out of GPU memory",
            c.oom.patterns),
      text_field(
          "oom.early",
          "restart jobs on a larger slice before they fail: projection (if this is expected to cost less), line (if a linear extrapolation to the expected end exceeds the slice) or off",
          c.oom.early),
  };
}

}  // namespace smartmig
