// Mean-field PPO from start to end: lessons from a teacher (if any), then rollouts and updates in turn, evaluation on
// validation days beside a baseline, checkpoints. Every random draw is keyed by (seed, place in the run), all sums have
// one order: a run is a function of its config, equal to the byte for any number of threads, and a run resumed from a
// checkpoint equals one that was never stopped (environments are restored by replaying the actions of their day).
//
// Does not print and opens no file: src/cli/simulate/train.cc does. One owner.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "learn/imitation.h"
#include "learn/learner.h"
#include "learn/rollout.h"
#include "model/summary.h"

namespace smartmig {

struct UpdateReport {
  std::uint64_t update = 0, updates = 0;
  std::uint64_t jobs = 0, env_steps = 0, agent_steps = 0;  // since the start
  double learning_rate = 0;
  LossSums loss;  // means of the last epoch
  double explained_variance = 0, grad_norm = 0;
  int epochs = 0;
  std::optional<double> episodic_return, episode_calls;    // mean of the whole days that ended; none may have
  double simulation_s = 0, inference_s = 0, update_s = 0;  // wall, of this update
};

struct LessonReport {
  std::int64_t round = 0, epoch = 0;
  double cross_entropy = 0, value_loss = 0;
  double teacher_et = 0;  // mean over the round's days of whoever drove
};

struct EvalReport {
  std::size_t days = 0;
  double et = 0, tardiness_min = 0, energy_wmin = 0, baseline_et = 0;  // ET by the workloads' weights
  double difference = 0, half_width = 0;                               // of et - baseline_et, 95 %
  double relative() const { return baseline_et > 0 ? et / baseline_et - 1 : 0; }
};

class Trainer {
 public:
  static Result<std::unique_ptr<Trainer>> make(const TrainConfig& config, int threads);
  static Result<std::unique_ptr<Trainer>> resume(const std::string& name, std::string_view checkpoint, int threads,
                                                 const std::function<Result<Ok>(TrainConfig&)>& change = {});

  const TrainConfig& config() const { return config_; }
  // Lessons, then the first days. Call once on a fresh trainer, not on a resumed one.
  Result<Ok> start(const std::function<void(const LessonReport&)>& told = {});
  bool finished() const { return update_ >= updates_; }
  std::uint64_t updates_done() const { return update_; }
  std::uint64_t jobs_done() const { return jobs_; }
  std::uint64_t steps_done() const { return env_steps_; }
  Result<UpdateReport> update();
  Result<EvalReport> evaluate(Sampling sampling);
  std::string checkpoint();
  PolicyFile policy() const;
  const Network& network() const { return learner_->network(); }
  double best_et = -1;  // validation ET of the best policy so far; below 0: none

 private:
  Trainer(const TrainConfig& config, std::shared_ptr<const EnvSetup> setup, int threads);
  Result<Ok> imitate(const std::function<void(const LessonReport&)>& told);
  void take_normaliser();
  double gamma() const;  // of this update
  double lambda() const;
  void scale_rewards(bool adapt);
  Result<Ok> restore(const std::string& name, const std::vector<Section>& sections);
  Result<LossSums> learn(UpdateReport& report);

  TrainConfig config_;
  std::shared_ptr<const EnvSetup> setup_;
  WorkerPool pool_;
  std::unique_ptr<Learner> learner_;
  std::unique_ptr<Collector> collector_;
  std::unique_ptr<Rollout> rollout_;
  RunningStats seen_, returns_;
  std::vector<double> running_return_;  // discounted, by environment
  std::vector<float> scaled_;
  std::vector<std::uint32_t> order_;
  std::uint64_t update_ = 0, updates_ = 0, jobs_ = 0, env_steps_ = 0, days_used_ = 0;
  struct Validation {
    TrainingDay day;
    double baseline_et;
  };
  std::vector<Validation> validation_;
};

}  // namespace smartmig
