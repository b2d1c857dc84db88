// The two small files that record what happened to an attempt. They consist of lines "key value", after a first line
// that names the format and its version; without the last line "end" a file is ignored. `record`: made exclusively by
// the supervisor before anything of the job runs; tells who supervises it (boot id, pid, start time in clock ticks:
// together they name one process forever) and where its cgroups lie. A void record means that this attempt will never
// run. `exit`: how it ended; replaced whole. Instants are Unix microseconds.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "live/jobs/runner.h"

namespace smartmig {

inline constexpr int kAttemptFormat = 1;

struct AttemptRecord {
  bool is_void = false;
  AttemptId id;
  std::string boot_id;
  int pid = 0;
  std::uint64_t start_ticks = 0;
  std::string token;                 // in the environment of every process of the job, as SMARTMIG_ATTEMPT_TOKEN
  std::vector<std::string> cgroups;  // directories
};

// `name` is what sentences call the file. Strict; a newer format is refused by its number.
Result<AttemptRecord> parse_attempt_record(const std::string& name, std::string_view text);
Result<AttemptExit> parse_attempt_exit(const std::string& name, std::string_view text, AttemptId id);
std::string to_text(const AttemptExit& exit);
std::string void_record();

// Processes by name: nullopt where there is none of that pid.
std::optional<std::uint64_t> start_ticks_of(int pid);
bool is_alive(int pid);   // a zombie is not; one that cannot be judged is
std::string this_boot();  // empty: unknown

}  // namespace smartmig
