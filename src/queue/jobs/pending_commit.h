// The contents of the next commit: rows of changed jobs, journal lines, named values, the meters' joules; and what
// happens to it when it cannot be written.
//
// Invariants:
//   - joules of jobs and the state of the meters are written together, since otherwise a crash would count some joules
//     twice;
//   - a commit that fails keeps everything but the jobs accepted since the last one that succeeded: those are returned,
//     so that their submitters can be told and nothing of them stays;
//   - rows of jobs that are not final are written again as they are by then.
// Thread rule: the owner's.
#pragma once
#include <functional>
#include <set>
#include <unordered_map>

#include "base/moved.h"
#include "queue/job_record.h"
#include "queue/store/store.h"

namespace smartmig {

class PendingCommit {
 public:
  explicit PendingCommit(Store& store) : store_(store) {}

  void launch(LaunchRow row) { batch_.launches.push_back(std::move(row)); }  // of a job that is being accepted
  Result<std::optional<std::string>> launch(std::uint64_t id) const;
  void changed(QueueId id) { dirty_.insert(id); }
  void accepted(QueueId id);                               // a new job: its spec is written, too
  void respecified(QueueId id);                            // a live one's spec has changed
  void ended(const JobRecord& job);                        // its last row
  void credited(QueueId id) { energy_dirty_.insert(id); }  // its joules: written when something else is
  void credited_ended(const JobRecord& job);               // of a job whose last row is stored
  void set_value(const std::string& key, std::string value) { batch_.values[key] = std::move(value); }
  void put_aside(DamagedRow row) { batch_.damaged.push_back(std::move(row)); }
  void write_energy() { energy_due_ = true; }
  void clock_stepped(Time by) { next_try_ = moved(next_try_, by); }

  struct Outcome {
    bool stored = false;              // everything is on disk
    std::vector<QueueId> unaccepted;  // new jobs that could not be stored and are forgotten
  };
  // `find` gives the record of a live job, or null; `meters` the state of the energy meters.
  Outcome commit(const std::function<const JobRecord*(QueueId)>& find, std::vector<EventRow> events,
                 const std::function<std::string()>& meters, UnixTime now);
  // There is room for a step's changes and this many bytes more.
  Result<Ok> room_for(std::uint64_t more) const;
  // The row of an ended job as the next commit leaves it.
  Result<std::optional<JobRow>> row(QueueId id) const;

  std::vector<QueueId> unstored_ends() const;  // jobs whose last row the disk has not taken

  const std::string& trouble() const { return trouble_; }  // of the disk, in words; empty: none
  UnixTime next_try() const { return trouble_.empty() ? kNeverUnix : next_try_; }

 private:
  void put(JobRow row);  // into the batch, in the place of an earlier one of that job
  Store& store_;
  StoreBatch batch_;
  std::unordered_map<std::uint64_t, std::size_t> at_;  // where the row of a job is in the batch
  std::set<QueueId> dirty_, fresh_;                    // rows to write; of these, those with their spec
  std::vector<QueueId> accepted_;
  std::set<QueueId> energy_dirty_;
  bool energy_due_ = false;
  std::string trouble_;
  UnixTime next_try_{};
};

// For tests of crashes: with SMARTMIG_TEST_KILL_AT=N the daemon kills itself when it comes here for the N-th time,
// which is before and after each commit and after each effect.
void crash_point();

}  // namespace smartmig
