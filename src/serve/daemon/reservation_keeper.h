// What happens with reservations of GPUs: the operator makes and removes them, windows begin and end. At a begin the
// journal says which jobs of others still run there; they run on. When a window is over or taken back, its waiting jobs
// are held until their owner releases them (transitions.h). Thread rule: the owner's.
#pragma once
#include "queue/jobs/gpu_reservations.h"
#include "serve/attempts/attempts.h"

namespace smartmig {

class ReservationKeeper {
 public:
  ReservationKeeper(GpuReservations& list, LiveSession& session, LiveJobs& book, const Boards& boards,
                    const AttemptTable& table, Attempts& attempts, JobTransitions& transitions)
      : list_(list),
        session_(session),
        book_(book),
        boards_(boards),
        table_(table),
        attempts_(attempts),
        transitions_(transitions) {}

  // `count` above 0 in the place of GPUs: so many that are in service and free in that time, the last ones first.
  Result<Ok> add(GpuReservation reservation, int count);
  Result<Ok> remove(const std::string& name);
  void begin_and_end_due();
  bool take_changed() { return std::exchange(changed_, false); }  // since the last call: a decision is due
  UnixTime next_due() const { return list_.next_edge(); }
  std::vector<QueueId> overruns(const GpuReservation& reservation) const;  // jobs of others that run there

 private:
  void look_at_jobs_of(const std::string& name);
  void store();

  GpuReservations& list_;
  LiveSession& session_;
  LiveJobs& book_;
  const Boards& boards_;
  const AttemptTable& table_;
  Attempts& attempts_;
  JobTransitions& transitions_;
  bool changed_ = false;
};

}  // namespace smartmig
