// What the files of the supervisor share. It holds one job: it makes the attempt's record, starts the job as its user,
// carries its output to the spool, enforces its time limit, stops it when asked, writes down how it ended and kills
// what is left. It outlives the daemon, keeps the rights that it was started with, opens no path that a user chose, and
// parses nothing but numbers in /proc and /sys. C library only; no allocation after the start of the job.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "live/jobs/launch_block.h"

namespace smartmig::supervisor {

// The launch block with its lists turned into pointers.
struct Job {
  const char* block = nullptr;
  const LaunchHead* head = nullptr;
  char** arguments = nullptr;  // end with a null, as exec wants them
  char** environment = nullptr;
  const char* text(std::uint32_t at) const { return block + at; }
  const char* item(const LaunchList& list, std::uint32_t i) const {
    return block + reinterpret_cast<const std::uint32_t*>(block + list.at)[i];
  }
};

// A sentence of bounded length.
struct Words {
  char text[1000] = {};
  std::size_t length = 0;
  __attribute__((format(printf, 2, 3))) void add(const char* format, ...);
};

// ---- child.cc: the job's side of the fork
struct ChildPipes {
  int output;  // standard output, and standard error where `errors` is the same
  int errors;
  int news;      // ChildNews; closed by exec
  int handover;  // a socket that takes the descriptors of the owner's output files
  pid_t supervisor;
  char oom_score[16];  // of before; the supervisor lowered its own
};
struct ChildNews {
  std::int32_t ready = 0;  // 1: all is done but exec. 0: it will never run, and why
  char words[1000] = {};
};
[[noreturn]] void become_job(const Job& job, const ChildPipes& pipes);

// ---- groups.cc: cgroups and killing
void make_groups(const Job& job, Words& troubles);
void enter_groups(const Job& job);
// One blow at everything that descends from us; may have to be repeated. `group`: a process group to begin with, while
// its leader is not yet reaped (its number may be somebody else's later); 0: none.
void kill_all(const Job& job, pid_t group);
void stop_all(bool on);  // everything that descends from us stands still, or goes on
bool has_children();     // reaps the dead ones first
void remove_groups(const Job& job);
std::int64_t peak_bytes(const Job& job);  // -1: unknown
bool saw_oom_kill(const Job& job);

// ---- records.cc: the attempt's files
struct Ending {
  int code = -1, signal = 0;
  std::int64_t started_us = 0, ended_us = 0, peak_mib = -1;
  std::int64_t started_steady_us = 0, ended_steady_us = 0;  // by boot_us()
  bool host_oom = false, timed_out = false, never_started = false;
  bool short_of_means = false;  // never started, for want of a process or a descriptor
  int ordered = 0;              // why it was told to stop, as told; 0: it was not
  Words words;
};
enum class Made { kMade, kExists, kFailed };
bool take_lock();      // held until we die
bool place_is_ours();  // asked under the lock. False: the attempt was given up, and its directory is being removed
Made make_record(const Job& job, std::uint64_t ticks, int& error);  // whole, durable, exclusive
bool reserve_ending(int& error);  // room on the disk, so that a full one loses nothing
bool write_ending(const Ending& ending);
std::uint64_t own_start_ticks();

ssize_t read_text(const char* path, char* out, std::size_t size);  // zero-terminated; -1: cannot be read
bool write_text(const char* path, const char* text);
std::int64_t unix_us();
std::int64_t monotonic_us();
std::int64_t boot_us();  // counts while the host sleeps

}  // namespace smartmig::supervisor
