// The types that the store takes and returns: rows of jobs, lines of the journal, named values. Instants are Unix
// microseconds of the queue's clock.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace smartmig {

struct JobRow {
  std::uint64_t id = 0;
  std::uint32_t uid = 0;
  int status = 0;  // JobStatus
  bool final = false;
  std::int64_t submitted_us = 0, ended_us = -1;
  std::uint64_t launch = 0;        // LaunchRow of this job and of all tasks of its array; 0: none
  std::uint64_t launch_bytes = 0;  // as read: 0: none, or not kept any more
  std::string spec;                // JSON, written once: empty in a commit leaves what is stored
  std::string state;               // JSON: all else of the record
};

// What only the start of a job needs: environment and script, of any size. Stored once for an array, under the number
// of its first task; read at a start alone.
struct LaunchRow {
  std::uint64_t id = 0;
  std::uint32_t uid = 0;
  std::string text;
};

struct EventRow {
  std::uint64_t sequence = 0;  // increasing without gaps
  std::int64_t at_us = 0;
  std::string line;  // one JSON line of the journal, without newline
};

// What could not be read, put aside by a start: kept in the table `damaged` for people to look at.
struct DamagedRow {
  std::string what;  // "job 12", "value energy"
  std::string why;
  std::string text;
};

struct StoreBatch {
  std::vector<JobRow> jobs;
  std::vector<LaunchRow> launches;
  std::vector<EventRow> events;
  std::vector<DamagedRow> damaged;
  std::map<std::string, std::string> values;  // small named values: clock origin, energy meters, history of kinds
  bool empty() const { return jobs.empty() && launches.empty() && events.empty() && damaged.empty() && values.empty(); }
  void clear() {
    jobs.clear();
    launches.clear();
    events.clear();
    damaged.clear();
    values.clear();
  }
};

struct StoreFind {
  std::optional<std::uint32_t> uid;
  std::optional<int> status;
  std::optional<bool> final;
  std::uint64_t after = 0;  // ids above (oldest first) or below (newest first, 0: no limit) this one
  bool newest_first = false;
  int limit = 1000;
};

// Ended jobs, added up by user, kind or day of their end (of the local clock).
struct StoreUsage {
  std::string by = "user";
  std::optional<std::uint32_t> uid;
  std::int64_t since_s = 0, until_s = INT64_MAX;  // of their ends
};
struct UsageRow {
  std::string key;
  std::int64_t jobs = 0, done = 0;  // done: of them, those that succeeded
  double joules = 0;
  double slice_s = 0;  // compute slices times seconds, of last attempts
  double late_s = 0;
};

struct StoreStart {
  std::vector<JobRow> live;  // by id, with specs and without launches
  std::map<std::string, std::string> values;
  std::uint64_t last_job = 0, last_event = 0;  // ever given, whatever was pruned since
  std::string trouble;                         // commits are missing, and why; empty: none are known to be
};

inline constexpr char kOpenMark[] = "-open";  // suffix of the file that says that a log is there

struct JobEnd {  // ordered: jobs may end at the same instant
  std::int64_t at_us = 0;
  std::uint64_t job = 0;
  auto operator<=>(const JobEnd&) const = default;
};

// What a prune keeps: nothing older than an instant, and at most this many.
struct StoreKeep {
  std::int64_t events_from_us = INT64_MIN, jobs_from_us = INT64_MIN;  // of jobs: their ends
  std::uint64_t max_events = UINT64_MAX, max_jobs = UINT64_MAX;
};

struct StoreOptions {
  std::uint64_t max_bytes = 0;  // of the file; a commit beyond it fails as on a full disk. 0: no limit
  int readers = 4;              // connections for readers, opened when needed
};

}  // namespace smartmig
