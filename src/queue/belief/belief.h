// The part of the queue that a policy sees, as rows of a growing job table. A record enters as a new row when it
// becomes visible and leaves when it ends or is hidden; a requeued or revised one enters again as another row. So a row
// never changes, and Cluster stays the fold of its events. Rows are reused by compaction, so memory follows what is
// alive.
//
// A job that continues from saved state needs its restart time in addition to the remaining work. If the row has seen
// the stop, the Cluster adds the restart time; for a new row it is part of the work.
//
// A job's time on each size of the fleet's first model: as similar runs took before (JobRecord's shape, from
// history.h); else by its kind's measured curve; else by size ^ -0.5, between the median exponents of the measured
// curves (data/speeds.csv: 0.52 over 26 kinds on the A100 with 40 GB, 0.39 over 62 with 80 GB, 0.40 over 7 on the
// H200). Times of the belief count from `origin` (Unix). Thread rule: the owner's.
#pragma once
#include <algorithm>
#include <map>
#include <memory>

#include "model/cluster.h"
#include "policy/layers/power_cap.h"
#include "queue/job_record.h"
#include "queue/jobs/asked_size.h"

namespace smartmig {

// How much of a board a slice may use, and how much its neighbours are assumed to use at the same time. A slice of MIG
// has its share to itself. Soft slices (MPS) may use `overlap` times their share of the SMs, so above some size a
// larger slice is not faster. It would only keep neighbours away, and later jobs would wait while SMs are idle.
// Therefore, where slices overlap, every size is judged as if the board were full, and the belief then follows which
// jobs really run there (Job::crowding).
struct BoardSharing {
  bool soft = false;
  double overlap = 1;  // of soft slices; at least 1

  bool crowds() const { return soft && overlap > 1; }  // neighbours use the same SMs
  double share(int slices, int of) const { return std::min(1.0, (soft ? overlap : 1) * slices / of); }
  double others(int slices, int of) const {
    if (!soft) return 0;
    return 1 - double(overlap > 1 ? 1 : slices) / of;
  }
};

inline constexpr Time kUnknownRestart{30'000'000};  // of a kind that nobody measured
inline constexpr int kMostPreemptions = 10;         // of one job; then it is left alone

// What saving and resuming takes: as its owner says, else by its kind.
Time restart_time(const JobSpec& spec);

class Belief {
 public:
  Belief(std::shared_ptr<const Platform> platform, UnixTime origin, std::size_t capacity);

  const std::shared_ptr<const JobTable> table() const { return table_; }
  const Platform& platform() const { return *platform_; }
  UnixTime origin() const { return origin_; }
  void clock_stepped(Time by) { origin_ += by; }  // times of the belief go on as they were
  Time inside(UnixTime instant) const { return instant == kNeverUnix ? kNever : instant - origin_; }
  UnixTime outside(Time time) const { return time == kNever ? kNeverUnix : origin_ + time; }

  // A new row for this record. kInvalid: it fits no slice of the fleet, and the sentence says what it would need.
  // `made_up`: its owner declared no deadline (Job::deadline_made_up).
  Result<JobId> put(const JobRecord& record, UnixTime presented_deadline, bool made_up = false);
  void drop(QueueId record);                                        // its row is of the past
  JobId row(QueueId record) const;                                  // kNoJob: not visible
  const std::map<QueueId, JobId>& rows() const { return row_of_; }  // of what is visible
  QueueId record(JobId row) const { return rows_[index(row)].record; }
  // Of the whole job, when `left` of the row's time on a slice is left, which was `whole` at first.
  double share_left(JobId row, Time left, Time whole) const;
  std::size_t visible() const { return row_of_.size(); }
  std::size_t free_rows() const { return table_->size() - used_; }
  // The cluster over a fresh table with the visible rows only.
  Cluster compacted(const Cluster& cluster);

  void set_caps(const PowerCaps& caps) { caps_ = caps; }   // sizes that would exceed them are not offered
  void set_user_slices(int most) { user_slices_ = most; }  // nor those larger than a user may hold; 0: any
  void set_size_rules(const SizeRules& rules) { size_rules_ = rules; }
  void set_sharing(BoardSharing sharing) { sharing_ = sharing; }
  BoardSharing sharing() const { return sharing_; }
  Job job_of(const JobRecord& record, UnixTime presented_deadline, bool made_up = false) const;
  // Would it run anywhere? Without taking a row.
  Result<Ok> fits(const JobRecord& record) const;
  // Its whole time on a slice of this many compute slices of the first model; kCannotRun where it does not run.
  Time time_on(const JobRecord& record, int compute_slices) const;
  int largest_memory_mib(const JobSpec& spec) const;  // of the slices that it may have

 private:
  std::shared_ptr<const Platform> platform_;
  std::shared_ptr<JobTable> table_;
  UnixTime origin_;
  PowerCaps caps_;
  int user_slices_ = 0;
  SizeRules size_rules_;
  BoardSharing sharing_;
  std::size_t capacity_, used_ = 0;
  std::map<QueueId, JobId> row_of_;
  struct Row {
    QueueId record = kNoId;
    double share = 1;  // of the whole job, that the row's work is
    Time resume{};     // part of the row's work on every size
  };
  std::vector<Row> rows_;
};

}  // namespace smartmig
