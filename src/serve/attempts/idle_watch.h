// Jobs that ask for it (--idle) end once they have not used their GPU for so long. What can be seen of a slice is which
// processes have it open (every driver lists them) and the processor time of the job: a program that starts work on a
// GPU takes some. Utilisation by slice is left out, since NVML has it neither for MIG nor under MPS. So a job is idle if
// over the whole time none of its processes was seen on the GPU, or all of them together took less than kBusyShare of
// one core. Where the driver lists no processes, processor time alone counts. A job that computes on the CPU with a GPU
// open counts as busy. Thread rule: the owner's.
#pragma once
#include <deque>

#include "live/live_clock.h"
#include "serve/attempts/attempts.h"

namespace smartmig {

class IdleWatch {
 public:
  static constexpr double kBusyShare = 0.02;
  static constexpr int kLooks = 20;  // within the time that a job may be idle

  struct Look {
    Time at{}, cpu{};  // steady; processor time since the attempt began
    bool on_gpu = false;
  };
  // Share of a core over the last `idle`, and whether it was on the GPU; nothing: not watched for so long, or busy.
  // Older looks than needed are dropped.
  static std::optional<double> idle_share(std::deque<Look>& looks, Time idle);

  IdleWatch(LiveSession& session, LiveClock& clock, JobRunner& runner, LiveJobs& book, const Boards& boards,
            const AttemptTable& table, Attempts& attempts)
      : session_(session),
        clock_(clock),
        runner_(runner),
        book_(book),
        boards_(boards),
        table_(table),
        attempts_(attempts) {}

  void look_when_due();
  UnixTime next_due() const;  // never, while no job is watched
  void clock_stepped(Time by) { next_ = moved(next_, by); }

 private:
  std::vector<JobRecord*> watched() const;
  std::map<QueueId, bool> on_gpus(const std::vector<JobRecord*>& jobs) const;
  void look(const std::vector<JobRecord*>& jobs);

  LiveSession& session_;
  LiveClock& clock_;
  JobRunner& runner_;
  LiveJobs& book_;
  const Boards& boards_;
  const AttemptTable& table_;
  Attempts& attempts_;
  std::map<AttemptId, std::deque<Look>> looks_;
  UnixTime next_{};
};

}  // namespace smartmig
