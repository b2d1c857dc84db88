// Simulated days as an environment of the controller. A step lasts from one controller call to the next
// (controller_due), with a placer in the loop. The loop, calls and draws are those of MeanFieldRepartitioner in a
// simulation, so a trained policy meets in use what it met in training.
//
// Reward of an interval: -(newly accrued tardiness / n + a_eff * newly used energy) / (1 + a_eff), in minutes and
// watt-minutes. A job accrues from its deadline to its end; n is the expected number of jobs of the day. The sum over a
// day is exactly -ET, up to n, times the day's weight if the workloads have weights. The reward is a difference of two
// state functions (tardiness and energy so far), so nothing is lost between calls.
//
// The actions of a day are kept: a checkpoint stores them, and a resumed run replays them. One owner at a time.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/net/meanfield.h"
#include "policy/registry.h"
#include "research/learn/train_config.h"
#include "sim/sim_fleet.h"
#include "sim/workload_spec.h"

namespace smartmig {

class WorkloadWindows;
inline constexpr int kForesight = 7;  // windows of future work

// The days of a file are its windows. Those for search and tuning train; the last fifth of them, at least one, serves
// validation between updates. The windows held out for reports (workload_windows.h) are never used here.
struct FileDays {
  std::shared_ptr<const WorkloadWindows> windows;  // null: the workload is a generator
  std::vector<std::uint64_t> training, validation;
};

struct EnvSetup {
  std::shared_ptr<const Platform> platform;
  CostModel cost;
  std::vector<std::string> workloads;  // generators and files
  std::vector<FileDays> files;         // parallel
  std::vector<double> weights;         // of each workload's rewards
  LoadOptions load;
  std::string placer;
  double a = kPaperA;
  std::vector<Shape> shapes, initial;
  Features features = Features::kPaper;
  bool foresight = false;
  bool actual_n = false;  // n is the day's actual number of jobs: the return is then -ET to the last digits
  std::uint64_t first_seed = 1, seeds = 1;
  Time cut = std::chrono::hours(36);

  static Result<std::shared_ptr<const EnvSetup>> make(const TrainConfig& config);
  // The number of validation days: those of files are counted, a generator has as many as wanted.
  std::size_t validation_days(std::size_t wanted) const;
  int inputs() const { return input_count(features, shapes.size()) + (foresight ? kForesight : 0); }
};

// A day bound to the platform, with the data that rewards and the critic need.
struct TrainingDay {
  std::shared_ptr<const JobTable> jobs;
  double n = 1, a_eff = 0, weight = 1;
  std::vector<double> work_before;  // whole-GPU minutes of jobs [0, i)
};
// Day `number` of a sequence over the workloads. A generator takes the seed; a file takes one of its windows: a
// validation window if the seed is a validation seed (100,000 and above), else a training window.
Result<TrainingDay> make_training_day(const EnvSetup& setup, std::size_t number, std::uint64_t seed);

struct EnvStep {
  double reward = 0;
  bool done = false;       // the day is over: all jobs are finished
  bool truncated = false;  // the day was cut: the value of the last observation stands for the rest
};

class Env {
 public:
  explicit Env(std::shared_ptr<const EnvSetup> setup);
  ~Env();
  Env(Env&&) noexcept;

  // Begins day `number` of this environment's sequence. Calls before `skip` are skipped and keep the initial layouts.
  Result<Ok> begin(std::uint64_t number, Time skip = Time{0});
  // The state that awaits an action. raw(): inputs, then foresight.
  std::span<const float> raw() const { return raw_; }
  const Observer& observer() const { return observer_; }
  const Cluster& cluster() const;
  std::uint64_t decision() const { return cluster().decision(); }
  EnvStep act(std::span<const std::uint8_t> next);  // next layout of every GPU
  bool over() const { return over_; }

  std::uint64_t number() const { return number_; }
  Time skipped() const { return skip_; }
  double day_return() const { return return_; }  // of the calls so far
  std::size_t jobs() const { return day_.jobs->size(); }
  std::uint64_t seed() const { return seed_; }
  const std::vector<std::uint8_t>& actions() const { return actions_; }  // one per call and GPU

 private:
  class Pushed;
  struct World;
  bool run_to_call();
  void look();
  double accrued_cost() const;

  std::shared_ptr<const EnvSetup> setup_;
  Observer observer_;
  TrainingDay day_;
  std::unique_ptr<World> world_;
  std::vector<float> raw_;
  std::uint64_t number_ = 0, seed_ = 0;
  Time skip_{}, finished_late_{};
  double cost_ = 0, return_ = 0;  // of the intervals so far
  bool over_ = true, stuck_ = false;
  std::vector<std::uint8_t> actions_;
};

}  // namespace smartmig
