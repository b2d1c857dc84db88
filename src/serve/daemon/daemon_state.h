// Everything that a daemon knows, each part with its own invariants; the parts that act (attempts, decisions, ...) are
// made over these. Opened from the GPUs and the store. Thread rule: the owner's.
#pragma once
#include "queue/answers/figures.h"
#include "queue/belief/live_fork.h"
#include "queue/jobs/admission.h"
#include "queue/jobs/gpu_reservations.h"
#include "queue/jobs/job_groups.h"
#include "queue/learning/estimates.h"
#include "serve/attempts/attempt_table.h"
#include "serve/attempts/host_shares.h"
#include "serve/gpus/board_discovery.h"
#include "serve/gpus/memory_watch.h"

namespace smartmig {

// How often the daemon acts without being asked.
struct DaemonPace {
  Time tick = std::chrono::seconds(60);    // a decision at least so often; kNever: at events only
  bool decide_each_arrival = false;        // no decision is spared when jobs arrive together
  Time advice = std::chrono::minutes(10);  // between two looks of guard and shadow into the future
};

// What a daemon needs. All of it outlives the daemon.
struct DaemonWorld {
  LiveClock& clock;
  MigDriver& driver;
  Reshaper& reshaper;
  JobRunner& runner;
  Store& store;
  bool emulated = false;             // jobs are registered on their slices with their kind's watts
  std::string version = "0";         // of the program, for the journal
  std::string power_model = "auto";  // of the GPUs; auto: the default of each model
  DaemonPace pace;
  std::string power_fit;  // the file with the watts fitted to this machine (power_fit.h); empty: kept in memory alone
};

struct DaemonState {
  // `start` is what the store remembers. Live jobs are in the book and not yet in the belief.
  static Result<std::unique_ptr<DaemonState>> open(DaemonWorld& world, Settings settings, const StoreStart& start);

  Settings settings;
  Figures figures;
  Boards boards;
  LiveSession session;
  LiveJobs book;
  Estimates estimates;
  AttemptTable attempts;
  Quotas quotas;
  HostShares shares;
  JobGroups groups;
  Admission admission;
  GpuReservations reservations;
  MemoryWatch memory;

  void clock_stepped(Time by);
  LiveFork fork(const ForkScope& scope) const;    // for futures of all that is asked for
  Time stepped_while_down{};                      // found at the start
  std::vector<LiveJobs::Damaged> damaged_jobs{};  // found at the start (damaged_rows.h)

 private:
  DaemonState(DaemonWorld& world, Settings settings, FoundBoards found, PowerFit fit, UnixTime origin,
              std::uint64_t last_event, History history, LearnedTimes times, ForecastScores calibration);
};

}  // namespace smartmig
