// The price of a slice-minute: how many minutes of lateness others suffer if a compute slice is taken for a minute
// more. Who takes a slice for a minute delays everybody who waits, and everybody who comes before the queue is next
// empty, by one over the number of slices of the fleet. So, without a unit and alike for requests of seconds and
// trainings of days,
//
//   price = (late * jobs waiting that are late even on the fastest slice
//            + rate * (coming * run * queue + backlog * slice-minutes ahead / slices * in use) / (1.05 - load))
//           / compute slices
//
// with a load of 0.8 at most: a fleet that is full is so for some hours only. The backlog is what those who come find
// ahead of them: they pass the longer jobs that wait, so each counts by the share of arrivals that are longer.
//
// queue: the chance that who comes must wait. On 8 GPUs, and where more is wanted than there is, it is the lesser of load
// and in use; else in larger fleets it is a power of that, by sqrt(2 (GPUs + 1)) - sqrt(18) higher, as for a queue with so many servers (Sakasegawa).
//
// A slice counts as the compute slices it takes; one with double memory as those whose memory it takes, if these are more.
// rate, run (on the size that takes fewest slice-minutes) and load (slice-minutes that arrive over those there are) are
// averages of the arrivals seen. The rate counts arrivals that fade over `memory` runs: a few jobs at once after a long
// lull are no load yet. After a silence of five mean gaps between arrivals they have stopped coming at that rate: then the
// rate is the one for which such a silence is five gaps.
//
// in use: the share of the slices that would work if one GPU more did and all that waits began now, on the size that
// takes fewest. Those that come to a fleet that is emptier than the load says find room next to the job that asks, and
// few jobs that wait next to many idle slices delay nobody; a fleet of one GPU has no such room.
//
// Where jobs can be stopped (they have a restart time) those that come need not wait for all that runs. The price falls
// with the share of the slice-minutes that such jobs bring, by `stopping` of it; a job counts in full where its restart
// takes no time, and not at all from a run over `restart` on.
#pragma once
#include <memory>

#include "model/cluster.h"
#include "policy/planner/room.h"
#include "policy/planner/waiting_list.h"

namespace smartmig {

struct SlicePriceWeights {
  double late = 1, coming = 0.12, backlog = 4;
  double memory = 4;
  double stopping = 0.7, restart = 30;
};

// What was seen of the arrivals. A future of a living fleet goes on with a copy of the present's.
struct ArrivalAverages {
  Time last{-1};
  double run_min = 0, area_min = 0;  // over jobs; area in slice-minutes, on the size that takes fewest
  double stoppable_min = 0;          // the same of jobs that can be stopped, the others with 0
  double recent = 0;                 // arrivals, each fading from when it came
  std::size_t seen = 0;
  ArrivalsByLength by_length;
};

class SlicePrice {
 public:
  explicit SlicePrice(SlicePriceWeights weights, std::shared_ptr<ArrivalAverages> arrivals = nullptr)
      : weights_(weights), arrivals_(arrivals ? std::move(arrivals) : std::make_shared<ArrivalAverages>()) {}
  SlicePrice copy() const { return SlicePrice(weights_, std::make_shared<ArrivalAverages>(*arrivals_)); }
  void see_arrivals(const Cluster& cluster);  // of cluster.news(), and what works now
  void see_arrival(const Cluster& cluster, JobId job);
  double price(const Cluster& cluster, const WaitingList::Others& others) const;
  double load(const Cluster& cluster) const;
  const ArrivalsByLength& by_length() const { return arrivals_->by_length; }

 private:
  double rate(Time now) const;  // per minute
  double slices(const Cluster& cluster) const;
  SlicePriceWeights weights_;
  std::shared_ptr<ArrivalAverages> arrivals_;
  mutable std::uint64_t identity_ = 0;  // of the cluster whose compute slices were counted
  mutable double slices_ = 0;
  double busy_ = 0;  // compute slices that worked at the last see_arrivals()
};

}  // namespace smartmig
