// The journal of a living fleet: the same lines as a simulated run's, collected for the store. A run of lines begins
// with a header and can be replayed by itself (smartmig replay); a new run begins with every start of the daemon: the
// header shows the layouts found, the first arrivals are the jobs found alive, with what they have left. Jobs are
// numbered within a run as they become visible; their name is the queue's number. Thread rule: the owner's.
#pragma once
#include <functional>

#include "queue/store/store.h"
#include "report/journal.h"
#include "sched/session.h"

namespace smartmig {

class LiveJournal : public Journal {
 public:
  // Positions in the store continue after `last_position`. `origin`: Unix time of belief time 0.
  LiveJournal(std::shared_ptr<const Platform> platform, UnixTime origin, std::uint64_t last_position);

  void begin_run(const RunRecord& run, Time now);  // belief time
  // The table that the next events speak of, and, after a compaction, what its rows are called in this run.
  void set_table(std::shared_ptr<const JobTable> table, std::vector<std::size_t> numbers);
  const std::vector<std::size_t>& numbers() const { return numbers_; }
  void append(const Event& event) override;
  void note(Time now, const std::string& kind, const std::string& json_fields);  // outside the run: not replayed

  void clock_stepped(Time by) { origin_ += by; }

  std::vector<EventRow> take() { return std::exchange(rows_, {}); }
  std::uint64_t position() const { return position_; }
  std::uint64_t run_position() const { return run_position_; }  // of this run's header

 private:
  void add(Time at, std::string line);

  std::shared_ptr<const Platform> platform_;
  std::vector<std::string> kinds_;
  JournalWriter writer_;
  std::shared_ptr<const JobTable> table_;
  UnixTime origin_;
  Time run_began_{};
  std::uint64_t position_, run_position_ = 0;
  std::size_t sequence_ = 0, jobs_ = 0;
  std::vector<std::size_t> numbers_;  // by row
  std::vector<EventRow> rows_;
};

}  // namespace smartmig
