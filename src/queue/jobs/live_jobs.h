// The jobs of the queue that have not ended, by number; their dependencies; and the changes that are not stored yet.
//
// Invariants:
//   - a job is in live() until end(), which moves it out and writes its last row with the next commit;
//   - a job waits in the list of each live job that it depends on, and in no other;
//   - a number is never used twice, even if a job could not be stored;
//   - no record of a new job holds an environment, a script or a long command: they are in the store, once for an
//     array;
//   - an ended job keeps collecting joules (settling) until the sample that covers its end.
// Records are changed in place by the other parts, which say so: changed(). Thread rule: the owner's.
#pragma once
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "queue/jobs/pending_commit.h"
#include "queue/jobs/waiting_jobs.h"

namespace smartmig {

// What a job takes in the store and in memory, without environment, script and a long command.
std::uint64_t bytes_of(const JobSpec& spec);

class LiveJobs {
 public:
  explicit LiveJobs(Store& store) : pending_(store) {}
  struct Damaged {
    JobRow row;
    std::string why;
  };
  // Rows that cannot be read are left out, and returned.
  std::vector<Damaged> load(const StoreStart& start, std::uint64_t last_id);

  const std::map<QueueId, JobRecord>& live() const { return jobs_; }
  JobRecord* find(QueueId id);
  const JobRecord* find(QueueId id) const { return const_cast<LiveJobs*>(this)->find(id); }
  void changed(const JobRecord& job);
  const WaitingJobs& waiting() const { return waiting_; }
  void respecified(const JobRecord& job);  // its spec, too

  QueueId next_id() const { return QueueId(number(last_id_) + 1); }
  JobRecord& accept(JobRecord job);  // a new one, with the next number; its environment and script go to the store
  // A task of an array that is accepted, with its number: what becomes of the next commit, it stays.
  JobRecord& unfold(JobRecord job);
  QueueId reserve(std::size_t count);                            // reserves this many numbers; returns the first
  void given(QueueId id) { last_id_ = std::max(last_id_, id); }  // by an earlier daemon
  JobRecord& take_over(JobRecord job);                           // one that is new here and has its number already
  // One that had ended. What happened to it is moved to before `now`, where the clock was set back since.
  JobRecord& bring_back(JobRecord job, UnixTime now);
  void end(JobRecord& job);  // REQUIRES: its status is final. The reference is dead afterwards.
  std::vector<JobRecord> take_ended() { return std::exchange(ended_, {}); }  // since the last call
  std::vector<QueueId> take_dependents(QueueId id);                          // who waited for this one; forgotten here
  std::vector<QueueId> dependents(QueueId id) const;                         // who waits for this one
  // Of the live jobs of one owner with one title, the last before and the first after this number; kNoId: none.
  QueueId namesake_before(const JobRecord& job) const;
  QueueId namesake_after(std::uint32_t uid, const std::string& title, QueueId id) const;
  // The status that a job has or had. An unknown job counts as failed.
  JobStatus status_of(QueueId id) const;
  Result<std::optional<JobRow>> stored(QueueId id) const { return pending_.row(id); }
  // Environment, script and long command (take_launch); kNotFound: they are not kept any more.
  Result<std::string> launch(const JobRecord& job) const;
  // Into a spec without them. The last one stays parsed: tasks of an array start one after another.
  Result<Ok> add_launch(const JobRecord& job, JobSpec& spec);
  std::uint64_t bytes_of_user(std::uint32_t uid) const;  // that the live jobs take in the store

  // Joules of a live or an ended job. True: it has ended.
  bool credit(QueueId id, double joules, EnergySource source);
  void settled(int gpu, UnixTime until);  // energy up to here is known on this GPU
  std::vector<JobRecord> take_settled() {
    return std::exchange(settled_, {});
  }  // ended, and their joules are all known

  struct LateJoules {
    JobRecord job;
    double joules = 0;
  };
  std::vector<LateJoules> take_late_joules() { return std::exchange(late_, {}); }  // credited after the end

  // For those who follow the queue: each change makes the book a newer version, and a job carries that of its last one.
  // Nothing: too many have ended since for all of them to be named.
  std::uint64_t version() const { return version_; }
  std::optional<std::vector<QueueId>> gone_since(std::uint64_t version) const;

  void clock_stepped(Time by);  // what has happened keeps its distance from now

  // Something that admission looks at has changed: it is to look again.
  void queue_changed() { queue_changed_ = true; }
  bool take_queue_changed() { return std::exchange(queue_changed_, false); }

  // False: not stored; `unaccepted` are new jobs that are gone again.
  bool commit(std::vector<EventRow> events, const std::function<std::string()>& meters, UnixTime now,
              const std::function<void(QueueId)>& forget);
  // kIo: what changes now could not be stored; so it must not be changed.
  Result<Ok> room_for(std::uint64_t more_bytes = 0) const;
  PendingCommit& pending() { return pending_; }
  const std::string& disk_trouble() const { return pending_.trouble(); }
  UnixTime next_try() const { return pending_.next_try(); }

 private:
  JobRecord& enter(JobRecord job);  // among the live ones
  void leave(const JobRecord& job);
  void store_launch(JobRecord& job);
  void count_bytes(const JobRecord& job, bool enters);
  PendingCommit pending_;
  std::map<QueueId, JobRecord> jobs_;
  WaitingJobs waiting_;                                 // of jobs_
  std::map<QueueId, std::vector<QueueId>> dependents_;  // job -> those that wait for it
  std::map<QueueId, JobRecord> settling_;
  std::vector<JobRecord> settled_;
  std::vector<LateJoules> late_;
  std::map<std::pair<std::uint32_t, std::string>, std::set<QueueId>> by_title_;  // of live jobs, by owner
  std::map<std::uint64_t, std::size_t> launches_;                                // of jobs_: how many have each
  std::map<std::uint32_t, std::uint64_t> bytes_;                                 // of each user's
  struct {
    std::uint64_t id = 0;
    JobSpec spec;
  } parsed_;  // the last launch read
  std::vector<JobRecord> ended_;
  std::uint64_t version_ = 1, forgotten_ = 0;           // ends up to this version are not named any more
  std::deque<std::pair<std::uint64_t, QueueId>> gone_;  // by version
  QueueId last_id_ = kNoId;
  bool queue_changed_ = true;
};

}  // namespace smartmig
