// Every setting of the daemon, read from TOML. The file is the whole truth: what it does not name has the default shown
// by `smartmig serve --gen-config`, a key that is not in serve_fields() is an error with file, line and nearest key.
// SIGHUP reads the file again and changes everything except socket, state_dir, driver, seed and tcp.*, which need a new
// start (fixed_changes names them). Units: as in each name; durations are microseconds; 0 is "none" where so stated.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "serve/config/settings.h"

namespace smartmig {

struct ServeConfig {
  std::string socket, state_dir;  // empty: the user's default places
  std::string driver = "nvml";    // nvml, mps, or emulate:8xa100-40gb
  std::string policy = "planner";
  std::string layouts;  // of a static policy
  std::string shadow;   // empty: none
  bool guard = false;
  std::int64_t seed = 1;
  std::string mapping_dir;  // empty: none is written

  std::int64_t overtaking_bound = 64;
  Time overtaking_patience{14'400'000'000};

  double board_cap_w = 0, fleet_cap_w = 0;       // 0: none
  double energy_per_kwh = 0, late_per_hour = 0;  // both 0: no prices

  Time default_estimate{600'000'000};
  double default_slack = 1;
  Time default_grace{30'000'000};
  int default_mem_mib = -1;  // -1: auto

  std::int64_t user_slices = 0, user_queued = 0;  // 0: no limit
  std::int64_t queue_limit = 100'000, window = 512;
  std::map<std::string, std::int64_t> priorities;  // user name -> added to the priority of their jobs

  double host_cpus = 0;  // 0: all of the machine
  int host_mem_mib = 0;  // 0: all of the machine

  Time energy_sample{1'000'000};
  std::int64_t log_max_mib = 64, log_keep_days = 30;
  std::int64_t journal_max_events = 5'000'000, journal_keep_days = 30;
  std::int64_t jobs_max = 1'000'000, jobs_keep_days = 30;

  std::string tcp_listen;  // "0.0.0.0:7443"; empty: the Unix socket alone
  std::string tcp_token_file, tcp_certificate, tcp_key;
  bool tcp_tls = true;
  std::vector<std::string> tcp_hosts, tcp_allowed_origins;

  std::string on_finish;  // a program, run as the daemon's user with the job's JSON on its standard input; empty: none
  std::vector<std::string> oom_patterns = DaemonSettings().oom_patterns;
  bool operator==(const ServeConfig&) const = default;
};

// A value of a TOML file, as far as settings need it.
struct ConfigValue {
  enum Kind { kText, kWhole, kNumber, kBool, kTexts, kOther } kind = kOther;
  std::string text;
  std::int64_t whole = 0;
  double number = 0;
  bool yes = false;
  std::vector<std::string> texts;
};

struct ServeField {
  std::string key;   // "limits.user_slices"; "priorities" stands for its whole table
  std::string help;  // one line
  bool reloadable = true;
  std::function<Result<Ok>(const ConfigValue&)> set;
  std::function<std::string()> toml;  // the present value
};
std::vector<ServeField> serve_fields(ServeConfig& config);  // in the order of the file

Result<ServeConfig> parse_serve_config(const std::string& name, std::string_view text);
Result<ServeConfig> read_serve_config(const std::string& path);
Result<Ok> check_serve_config(const ServeConfig& config);  // what only several settings together can break
// The part that the owner of the queue needs. `version` is the program's.
DaemonSettings settings_of(const ServeConfig& config, std::string version);
std::string to_toml(const ServeConfig& config, bool comments);
// Keys that differ and that a running daemon cannot take over.
std::vector<std::string> fixed_changes(const ServeConfig& running, const ServeConfig& wanted);

}  // namespace smartmig
