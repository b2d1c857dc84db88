// The data that the daemon passes to a supervisor: one block of memory (a sealed memfd, descriptor kBlockFd) with a
// fixed head and texts behind it, so that the supervisor parses nothing and no file that a user can write is ever read
// again. None of it is in the supervisor's arguments or environment, which other users and the dynamic linker could
// see. Texts are named by their offset from the block's start and end with a zero; 0 is the empty text. Lists are
// arrays of such offsets. Plain C types only: the supervisor is built without the C++ library. Units are in the names.
#pragma once
#include <cstdint>

namespace smartmig {

inline constexpr int kReportFd = 3, kBlockFd = 4, kDirectoryFd = 5;  // descriptors of a new supervisor
inline constexpr std::uint32_t kBlockMagic = 0x534D4C42, kBlockVersion = 6;
// Exit codes of a supervisor: nothing of its job is left; it never began, and said why; something is alive yet.
inline constexpr int kLeftNothing = 0, kNeverBegan = 1, kLeftSomething = 3;
// A script is open as this descriptor of the job; its path is in the arguments.
inline constexpr int kScriptFd = 3;
inline constexpr char kScriptPath[] = "/proc/self/fd/3";
inline constexpr int kStopSignal =
    40;  // carries stop_payload(); SIGSTOP and SIGCONT suspend and continue; sent through a pidfd of a verified process
// The first SIGCONT of a job that began without a slice: it has one now, and its time limit, in place of the grace,
// counts from here.

struct LaunchList {
  std::uint32_t at = 0, count = 0;
};

struct LaunchHead {
  std::uint32_t magic = kBlockMagic, version = kBlockVersion;
  std::uint64_t bytes = 0;
  std::uint64_t job = 0;
  std::int32_t attempt = 0;
  std::uint32_t uid = 0, gid = 0, change_user = 0, append_output = 0, held = 0, new_privileges = 0;
  std::uint32_t host_mem_mib = 0;
  std::int64_t time_limit_us = 0, grace_us = 0;  // time_limit_us 0: none
  std::int64_t patience_us = 0;                  // with processes that do not die (supervisor/main.cc)
  std::uint64_t log_segment_bytes = 0, copy_bytes = 0;
  std::uint64_t script_bytes = 0;
  std::uint32_t boot_id = 0, token = 0, directory = 0, output = 0, error = 0, script = 0;
  std::uint32_t sim_library = 0, sim_state = 0, device = 0, kind = 0;          // kind 0: do not register
  std::uint32_t kill_file = 0, freezer_file = 0, peak_file = 0, oom_file = 0;  // of the cgroup; 0: there is none
  LaunchList arguments, environment;
  LaunchList groups;    // the numbers themselves
  LaunchList cgroups;   // directories to make, enter and remove
  LaunchList settings;  // pairs: file, text to write
};

// What comes back through kReportFd: once, before anything of the job runs.
struct SupervisorReport {
  enum What : std::uint32_t { kStarted = 1, kExists, kFailed } what = kFailed;
  std::int32_t pid = 0;
  std::uint64_t start_ticks = 0;
  char words[400] = {};
};

// `why`: a StopReason, which goes into the exit as it is.
constexpr std::uint64_t stop_payload(int signal, std::int64_t grace_us, std::uint8_t why) {
  const std::int64_t most = (std::int64_t(1) << 40) - 1, ms = grace_us < 0 ? 0 : (grace_us + 999) / 1000;
  return std::uint64_t(0x5A) << 56 | std::uint64_t(why) << 48 | std::uint64_t(ms < most ? ms : most) << 8 |
         std::uint64_t(signal & 0xFF);
}

}  // namespace smartmig
