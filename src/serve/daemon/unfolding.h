// Large arrays enter the queue in parts: the first tasks with their submission, the others some hundred in each step,
// so that others are served in between.
//
// Invariants:
//   - an array is accepted by the commit of its first tasks, and then as a whole: the same commit stores the others as
//     one value, from which each further part goes with the commit that stores its rows. After a crash in the middle all
//     tasks are there, each once; after one before that commit none is;
//   - the numbers of the tasks follow one another: they are reserved at the submission.
// Thread rule: the owner's.
#pragma once
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "queue/jobs/live_jobs.h"

namespace smartmig {

class Unfolding {
 public:
  static constexpr std::size_t kMostInStep = 500;  // some 20 ms

  explicit Unfolding(LiveJobs& book) : book_(book) {}
  // The tasks of an array that are not in the book yet; `base` has all that they share.
  void add(JobRecord base, std::vector<int> tasks);
  void accepted();                // what was added is stored
  void forget(QueueId array);     // its first tasks could not be stored
  std::vector<JobRecord> take();  // the next ones of accepted arrays; their numbers are in the records
  Result<Ok> load(const std::string& text);
  void clock_stepped(Time by);

  bool empty() const { return arrays_.empty(); }
  bool has(QueueId task) const;
  // `meant` is asked of each array: its record has the number of the next of so many tasks.
  using Meant = std::function<bool(const JobRecord& next, std::size_t tasks)>;
  bool any(const Meant& meant) const;
  std::size_t tasks() const { return count({}); }
  std::size_t tasks_of(std::uint32_t uid) const { return count(uid); }
  std::uint64_t bytes_of(std::uint32_t uid) const;  // that they will take in the store

 private:
  struct Array {
    JobRecord base;  // its number is that of the next task
    std::deque<int> tasks;
    bool accepted = false;
    bool loaded = false;  // of an earlier daemon: after a restore some of its tasks may be known already
  };
  std::size_t count(std::optional<std::uint32_t> uid) const;
  void store();

  LiveJobs& book_;
  std::deque<Array> arrays_;
};

}  // namespace smartmig
