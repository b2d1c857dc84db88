// From a decision to processes and back: the policy's plan is written into the records (prepare) and carried out once
// it is stored (carry_out). Attempts begin on their slices, or get them if their processes are already waiting for one
// (prelaunches.h); jobs are told to stop; slices are created and destroyed. If a slice, or the job's own last slice, is
// still in use, the start is postponed until the exit, and so is the destruction of a slice.
//
// Invariants:
//   - nothing here touches a process or a device before the commit of what led to it;
//   - no process gets a slice while another attempt's is alive there, whatever is believed (slice_guard.h): where the
//     GPU lists processes by slice, a start waits for a list that was asked for after it was stored;
//   - a job whose slice was not there, or not free, has not failed: it waits again;
//   - the owner does not wait for a process to begin: the runner tells later, and until then the job is starting. Starts
//     that the runner would put off wait here, so that the last look at the slice is just before.
// Thread rule: the owner's.
#pragma once
#include "base/moved.h"
#include "serve/attempts/attempt_table.h"
#include "serve/attempts/host_shares.h"
#include "serve/attempts/job_transitions.h"
#include "serve/attempts/visible_jobs.h"
#include "serve/gpus/slice_guard.h"

namespace smartmig {

class Attempts {
 public:
  // `emulated`: jobs are registered on their slices with their kind's watts.
  Attempts(const Settings& settings, JobRunner& runner, bool emulated, LiveSession& session, LiveJobs& book,
           Boards& boards, AttemptTable& table, const HostShares& shares, JobTransitions& transitions,
           VisibleJobs& visible, SliceGuard& guard)
      : settings_(settings),
        runner_(runner),
        emulated_(emulated),
        session_(session),
        book_(book),
        boards_(boards),
        table_(table),
        shares_(shares),
        transitions_(transitions),
        visible_(visible),
        guard_(guard) {}

  void prepare(const std::vector<LiveFleet::Effect>& effects);  // before the commit
  void begin_postponed();                                       // whose slices are left by now; before the commit
  void stop(JobRecord& job, StopReason reason);                 // before the commit
  void stop_again(QueueId id) { to_stop_.push_back(id); }       // an earlier daemon was about to
  void carry_out();                                             // after it
  void begun(const JobRunner::Begun& one);                      // what came of a start; before the ends of attempts
  void stopped_before_it_began(JobRecord& job);                 // told to stop; the runner says that it never began
  void forget(QueueId id);                                      // its submit could not be stored
  // Why nothing can be started at the moment (no descriptors, no processes), in words; empty: nothing is known to be
  // short. Jobs stay queued meanwhile, and starts are tried again at next_try(), each time later.
  const std::string& shortage() const { return shortage_.words; }
  void clock_stepped(Time by) {
    shortage_.next_try = moved(shortage_.next_try, by);
    for (auto& [gpu, since] : misread_) since = moved(since, by);
  }
  UnixTime next_try() const { return shortage_.words.empty() ? kNeverUnix : shortage_.next_try; }
  // GPUs whose slices are others than believed, and since when that is known.
  std::map<int, UnixTime> take_misread() { return std::exchange(misread_, {}); }
  bool take_undone() { return std::exchange(undone_, false); }  // starts since the last call: decide again
  bool undone() const { return undone_; }
  // This GPU takes no work until it is read again; `why`, in words.
  void read_again(int gpu, std::string why);
  // The slice of a job whose processes have ended is not there.
  void slice_is_gone(int gpu);
  // It never began, for want of something: it waits, and starts pause. REQUIRES: it has left its slice
  void short_of_means(JobRecord& job, const std::string& words);
  void drop_postponed(QueueId id) { table_.drop_postponed(id); }
  void left_slice(JobRecord& job, UnixTime when);  // its processes are gone. REQUIRES: it has an attempt

 private:
  struct DecidedStart {
    QueueId job = kNoId;
    LiveFleet::Effect effect;
    std::uint64_t look = 0;  // that it waits for (Boards::look); 0: none was asked for
  };
  void begin(JobRecord& job, const LiveFleet::Effect& effect);
  void preempt(JobRecord& job);
  bool may_start(DecidedStart& start);
  void start(const LiveFleet::Effect& effect);
  void undo(JobRecord& job, const std::string& why);
  void granted(JobRecord& job);
  void has_begun(JobRecord& job, UnixTime at);
  void never_began(JobRecord& job, const Error& error);
  void could_not_start(JobRecord& job, const Error& error);
  Result<Launch> launch_of(const JobRecord& job, const LiveFleet::Effect& effect);

  const Settings& settings_;
  JobRunner& runner_;
  const bool emulated_;
  LiveSession& session_;
  LiveJobs& book_;
  Boards& boards_;
  AttemptTable& table_;
  const HostShares& shares_;
  JobTransitions& transitions_;
  VisibleJobs& visible_;
  SliceGuard& guard_;
  std::map<int, UnixTime> misread_;
  bool undone_ = false;
  std::vector<DecidedStart> starts_;                   // to be carried out
  std::vector<LiveFleet::Effect> effects_;             // the same: creations and destructions
  std::vector<LiveFleet::Effect> postponed_destroys_;  // of slices that a stopping job has not left yet
  std::vector<QueueId> to_stop_;
  struct Shortage {
    std::string words;
    Time pause{};  // until the next try
    UnixTime next_try{};
  } shortage_;
};

}  // namespace smartmig
