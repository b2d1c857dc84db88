// The waiting jobs, each user's in the user's own order (priority, deadline if any, submit, number), so that admission
// looks at the first few of each however long the queue is. Kept by the book: put() at every change of a record.
//
// Invariants: a job is here while it is held or queued, and nowhere else; tasks of an array with a limit, and else the
// jobs of a group, are in a list of their own, which gives no more of them than the limit leaves. put() and erase()
// take O(log n), first() as long as what it gives. Thread rule: the owner's.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "queue/job_record.h"
#include "queue/jobs/admission.h"

namespace smartmig {

AdmissionJob asked_by(const JobRecord& job);

class WaitingJobs {
 public:
  void put(const JobRecord& job);  // one that does not wait is taken out
  void erase(QueueId id);
  std::size_t of_user(std::uint32_t uid) const;            // held ones, too
  std::size_t users() const;                               // with jobs that are not held
  std::optional<int> highest_priority(QueueId but) const;  // held ones, too; nothing: no other waits
  // Of each user the first `most` that are not held, nor by their array or group. `running`: tasks of each array that run;
  // `left`: how many more of a group may run, where it has a limit.
  std::vector<AdmissionJob> first(std::size_t most, const std::map<QueueId, int>& running,
                                  const std::map<std::string, int>& left = {}) const;

 private:
  struct Key {
    std::int64_t rank = 0;  // -priority
    UnixTime deadline{}, submitted{};
    QueueId id = kNoId;
    auto operator<=>(const Key&) const = default;
  };
  struct Array {  // or group
    int limit = 0;
    std::string group;  // empty: an array
    std::set<Key> tasks;
  };
  struct User {
    std::size_t waiting = 0;
    std::set<Key> free;  // held by nothing
    std::map<QueueId, Array> arrays;
    std::set<std::pair<Key, QueueId>> in_order;  // of `arrays`, by their first tasks
  };
  struct Entry {
    AdmissionJob job;
    QueueId array = kNoId;  // its list; kNoId: of no group, and of no array with a limit
    std::string group;      // where the list is a group's
  };
  static Key key_of(const AdmissionJob& job);
  void add(const Entry& entry, int limit);
  void remove(const Entry& entry);

  std::unordered_map<std::uint64_t, Entry> entries_;
  std::map<std::uint32_t, User> users_;
  std::map<int, std::size_t> priorities_;  // how many have each
};

}  // namespace smartmig
