// The planner where stopping a job is not free: it plans by finishes.
//
// At every decision all waiting jobs are listed, those with a deadline first, short ones first
// (policy/planner/waiting_list.h). Each takes, on the timelines of the GPUs (policy/planner/timeline.h), the GPU, slice
// and start of least cost
//
//   cost = lateness at its finish + w * energy of its whole run
//          + price * (compute slices * its whole run + idle slice-minutes)   [minutes]
//
// where a placement counts with all the smallest slices that it makes impossible (a 3g at the front of an A100 is in the
// place of four), and idle slice-minutes are those that its place stands empty until a start that is not now,
// and reserves it, so that the jobs behind it plan around it: a large job is not starved, and a job waits for a better
// slice where it finishes earlier by that. Starts that are due now are carried out, or the slices made that they need;
// the rest of the plan is thrown away and made again at the next event.
//
// Shortest first, each on the slice that is cheapest for itself, is a start: other sizes are tried where jobs wait next
// to those that begin (list_planner_search.cc).
//
// In a mixed fleet a slice-minute of a faster GPU costs as many times more as the square of how much faster the job
// runs there: jobs with time leave it to those that only it can bring home in time.
//
// A slice that exists is free to use; one that must be made costs the seconds of the change, one that is being made
// what is left of them, and the job for which it is made comes first, so a change is made once. No slice is made that
// no job wants. The price of a slice-minute comes from the state of the fleet (policy/planner/slice_price.h).
//
// Jobs that can be stopped (they have a restart time) may be displaced by a late one, moved or resized, where the plan
// gains more by it than the restart costs, and a margin; each a bounded number of times, and not before it has run for
// a while. The others are never touched. See list_planner_moves.cc.
//
// A job without a deadline is wanted as soon as possible, its lateness counts from now; but jobs with one come first,
// and no order is taken that costs them more. So a job is never later for having a deadline.
//
// A job is held back next to a slice that it could have now only where it finishes by waiting earlier than on any slice
// it could have now (one without a deadline in the usual case: a mean may rest on a few very long ones), or another job needs that slice, or, for as long as it runs itself, where those who are expected
// to come lose more by its start than it loses by waiting (policy/planner/room.h). A patient one is also held back
// where that is cheaper, as long as it is on time and no longer than it could be on the slice that it could have now.
//
// Cost of a decision: at most kWindow jobs are planned, fewer once no GPU has room now; a GPU is looked at closely only
// where its earliest start could be the best, idle GPUs of equal layout once; timelines are kept between decisions. In
// fleets of more than kExactGpus GPUs a job looks at a few of each size only: the busiest that have room now (packed
// GPUs draw least for one job more) and those that have room soonest; and fewer jobs are planned, the first of the list
// at every decision and the rest in turn, so that the work of a decision grows only by a pass over the GPUs.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "policy/planner/job_rest.h"
#include "policy/planner/slice_price.h"
#include "policy/planner/timeline.h"
#include "policy/planner/waiting_list.h"
#include "sched/policy.h"

namespace smartmig {

struct ListPlannerOptions {
  double w = 0;  // minutes of tardiness per watt-minute
  SlicePriceWeights price;
  bool patient = false;                       // all jobs are
  bool stops = true;                          // jobs with a restart time may be stopped
  std::shared_ptr<ArrivalAverages> arrivals;  // null: its own
  bool shared = false;                        // room is kept for those who come (policy/planner/room.h)
  bool plain = false;  // looks at every move that could be made: the reference of what leaves hopeless ones out
};

class ListPlanner : public Policy {
 public:
  static constexpr std::uint32_t kNoPromise = 0xFFFFFFFF;
  static constexpr std::size_t kWindow = 256, kExactGpus = 32;
  static constexpr std::size_t kLargeWindow = 64, kInTurn = 16;  // in fleets of more GPUs: of the list, and of the rest
  static constexpr std::uint32_t kMostStops = 10;                // of one job
  static constexpr std::size_t kMostAtOnce = 16;  // on one GPU: there are 14 soft slices of half the memory
  static constexpr std::size_t kDisplacing = 16;  // jobs that look for one that could give way
  explicit ListPlanner(ListPlannerOptions options)
      : options_(std::move(options)), price_(options_.price, options_.arrivals) {}
  void decide(const Cluster& cluster, Plan& plan) override;
  std::vector<PlannedStart> planned_starts(const Cluster& cluster) const override;

 private:
  struct Option {
    double cost = 0;
    Time begin = kNever, finish = kNever;  // begin: of the change, where one is needed
    std::uint32_t gpu = 0;
    PlacementId where = kNoPlacement;
    int blocks = 0;        // free placements it takes away
    double late = 0;       // minutes, in the mean
    double crowd = 0;      // minutes that those who come lose by it (policy/planner/room.h)
    Time latest = kNever;  // it could begin now and is held back to save energy, until then at the latest
    bool valid() const { return where != kNoPlacement; }
    bool better_than(const Option& other) const;
  };
  struct Choice {           // of a job, among the options looked at
    Option any, now;        // the cheapest; of those that begin now the cheapest
    Time soonest = kNever;  // the first usual finish of those that begin now
  };
  struct Booking {  // what a job has reserved
    JobId job;
    double price;
    Option option;
    TypeId only = kNoType;  // as it was listed
  };
  struct GpuMemo {  // what is kept of a GPU between decisions
    GpuTimeline timeline;
    Layout layout, target, busy;
    Time asked{};               // when its present target was asked for
    std::uint32_t group = 0;    // idle GPUs of one model, layout and target share one; 0: a GPU of its own
    bool reserved = false;      // this decision put reservations on the timeline
    bool shut = false;          // takes no new work
    std::uint32_t vacated = 0;  // placements whose jobs are stopped by this plan
  };
  struct Promise {  // a slice that is being made for a job
    JobId job;
    std::uint32_t gpu;
    PlacementId where;
    Time at;                // when it was given
    TypeId only = kNoType;  // a size chosen for the sake of others stays as it was promised
  };
  struct Listed {
    JobId job;
    std::uint32_t promised;            // the GPU on which a slice is being made for it; kNoPromise
    PlacementId where = kNoPlacement;  // that slice, if it was promised at this very instant
    TypeId only = kNoType;             // the size it takes in the plan that is tried; kNoType: the cheapest
  };
  struct RoomCase {  // the candidate runs for `of_mean` times its mean
    double share = 0, of_mean = 1, peers = 0;
    std::vector<RoomNeeded> room;  // by type
  };
  struct Candidate {  // a job while it looks for a slice
    JobId job;
    Time deadline, resume;  // deadline: kNever where there is none
    bool patient;
    std::vector<TypeId> types;
    JobRest rest;
    std::vector<Time> run;          // by type: its whole run there in the mean, the restart included
    std::vector<double> dearer;     // by type: how many times the price a slice of that GPU model costs
    std::array<RoomCase, 3> cases;  // how long it may be
    std::size_t case_count = 0;     // 0: no room is kept from it
    bool long_for_sure = false;     // others need room in each case, each of hours
    std::vector<PeerSize> sizes;    // that jobs like it may take
    double usual = 1;               // its usual run over its mean run; 1 where its deadline judges
    double fastest = 0;             // minutes on the fastest type, in the mean
    double fleet_slots = 0;
    double most_room = 0;        // of a slice that it may take, in slots; at least that of the smallest
    std::vector<double> taught;  // by type: minutes that a run there is worth for what it teaches (Job::teaches)
  };

  // Of a run of the candidate whose mean end is `finish`.
  Time usual_finish(Time finish, Time run) const {
    return candidate_.usual == 1 ? finish : finish - run + rounded(double(run.count()) * candidate_.usual);
  }
  void look_at(const Cluster& cluster);
  void know_watts(const Platform& platform);
  void rebuild(const Cluster& cluster, std::uint32_t gpu);
  void count_rooms();
  void choose_gpus(const Cluster& cluster);
  void plan_jobs(const Cluster& cluster, bool all);
  bool large() const { return boards_.size() > kExactGpus; }
  void list_jobs(Time now);
  void plan_job(const Cluster& cluster, const Listed& listed);
  bool has_room(const Cluster& cluster, std::uint32_t gpu) const {
    return !boards_[gpu].shut && (table(cluster, gpu).offered & ~boards_[gpu].timeline.blocked_first()) != 0;
  }
  // What the others suffer: the job itself is not among them.
  double price_for(const Cluster& cluster, JobId job) const {
    return price_.price(cluster, waiting_.others(cluster, job));
  }
  void types_of(const Cluster& cluster, JobId job);
  bool keeps_room(const Cluster& cluster) const;
  void find_room(const Cluster& cluster);
  void share_open_slots(const Cluster& cluster);
  void find_doubts(const Cluster& cluster);
  std::uint32_t open_slots(const Cluster& cluster, std::uint32_t gpu, Time at) const;
  double open_at(const Cluster& cluster, Time at) const;
  double crowd_of(const Cluster& cluster, std::uint32_t gpu, TypeId type, PlacementId where, Time begin) const;
  void compare_models(const Platform& platform);
  double rent(const Platform& platform, TypeId type, double price) const {  // of the candidate, minutes a minute
    return price * platform.type(type).room * candidate_.dearer[index(type)];
  }
  // Compute slices whose place a placement takes: a 3g at the front of an A100 takes that of four.
  double room_of(const PlacementTable& facts, const Platform& platform, PlacementId where) const {
    return std::max(platform.type(facts.type[index(where)]).room,
                    facts.slot_room * std::popcount(facts.slots & facts.conflicts[index(where)]));
  }
  double rent_of_place(const Cluster& cluster, JobId job) const {  // where the candidate runs
    const JobState& state = cluster.state(job);
    return price_now_ * candidate_.dearer[index(state.type)] *
           room_of(table(cluster, index(state.gpu)), cluster.platform(), state.where);
  }
  // At least what best_for() can cost the candidate; as long as more jobs on a GPU never draw less.
  double least_cost(const Cluster& cluster) const;
  Option chosen_of(const Cluster& cluster, const Choice& choice) const;
  Option best_for(const Cluster& cluster, JobId job, std::uint32_t promised, TypeId only = kNoType);
  Option as_promised(const Cluster& cluster, const Listed& listed);
  // `placements`: of the type, a bit for each.
  void consider(const Cluster& cluster, std::uint32_t gpu, TypeId type, Choice& choice,
                std::uint32_t placements = ~0u) const;
  Time change_time(const Cluster& cluster, std::uint32_t gpu, PlacementId where) const;
  void carry_out(const Cluster& cluster, Plan& plan) const;
  bool exists(const Cluster& cluster, const Option& option) const {
    const GpuState& state = cluster.gpus()[option.gpu];
    return state.layout.contains(option.where) &&
           (!state.busy.contains(option.where) || (boards_[option.gpu].vacated >> index(option.where) & 1) != 0);
  }
  double lateness(const Cluster& cluster, Time finish, Time run) const {  // of the candidate, minutes
    const Time due = candidate_.deadline == kNever ? cluster.now() : candidate_.deadline;
    return candidate_.rest.minutes_late(due, finish, run);
  }

  // list_planner_search.cc
  struct Sum;
  class Search;
  void search(const Cluster& cluster);
  void take_back_all(const Cluster& cluster);
  TypeId next_size(const Cluster& cluster, JobId job, TypeId from, bool larger);

  // list_planner_moves.cc
  void find_movable(const Cluster& cluster);
  void move_jobs(const Cluster& cluster, Plan& plan);
  double move(const Cluster& cluster, JobId job, Booking* late, double at_least, Plan* plan);
  double most_gain(const Cluster& cluster, const Booking& late);
  void make_room(const Cluster& cluster, JobId job, JobId late);
  Time time_to_end(const Cluster& cluster, JobId job) const;
  double cost_of_staying(const Cluster& cluster, JobId job) const;
  double most_cost_of_staying(const Cluster& cluster, JobId job) const;
  std::vector<std::vector<double>> most_watts_;  // [model][slices]: the most that so many busy slices more draw
  bool watts_only_rise_ = false;                 // tables of watts by busy slices alone, none of which falls
  void find_earliest(const Cluster& cluster, std::uint32_t gpu);
  const PlacementTable& table(const Cluster& cluster, std::uint32_t gpu) const {
    return tables_[std::size_t(cluster.platform().model_index(GpuId(gpu)))];
  }

  ListPlannerOptions options_;
  SlicePrice price_;
  double price_now_ = 0, price_for_[2] = {};  // of the candidate; of jobs that run without and with a deadline
  std::uint64_t identity_ = 0;
  WaitingList waiting_;
  std::vector<PlacementTable> tables_;  // by model
  std::vector<GpuMemo> boards_;         // by GPU
  std::vector<Time> earliest_;          // [type][gpu]: when a slice of the type is first free of running jobs
  std::vector<Time> movable_until_;     // by GPU: when movable_of_ must be looked at again
  std::vector<std::array<JobId, kMostAtOnce>> movable_of_;  // by GPU, then kNoJob
  std::vector<std::uint8_t> room_;                          // by GPU: had room for a job when it was last rebuilt
  std::vector<std::uint32_t> roomy_;                        // GPUs with room now
  std::vector<std::vector<std::uint32_t>> shown_;           // by type: GPUs that a job looks at
  bool shown_ready_ = false;
  std::size_t rooms_ = 0, turn_ = 0;
  std::vector<std::uint32_t> groups_seen_;
  Candidate candidate_;
  struct Doubt {  // slots that may be taken until then, by a running job whose time is not known
    std::uint32_t slots = 0;
    Time until{};
    PlacementId where = kNoPlacement;
  };
  std::vector<std::vector<Doubt>> doubts_;  // by GPU
  bool doubts_ready_ = false;
  mutable std::vector<std::pair<Time, double>> open_at_;  // slots of the fleet, at instants asked for by the candidate
  std::vector<Listed> order_;
  std::vector<Booking> planned_;  // as far as order_ is planned; then jobs that are moved
  std::vector<JobId> movable_;    // running jobs that may be stopped now
  std::size_t move_turn_ = 0;
  std::uint64_t stops_seen_ = 0, stops_expected_ = 0;  // of all jobs: at this decision; with the last plan's
  std::vector<JobId> touched_;                         // started or stopped by the last plan
  std::vector<Promise> promised_;
};

}  // namespace smartmig
