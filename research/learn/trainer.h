// Mean-field PPO from start to end: lessons from a teacher (if any), then rollouts and updates in turn, evaluation on
// validation days against a baseline, checkpoints. Every random draw is keyed by (seed, position in the run), and all
// sums have one order. So a run is a function of its config, equal to the byte for any number of threads, and a resumed
// run equals one that was never stopped (environments are restored by replaying the actions of their day).
//
// Does not print and opens no file; src/cli/simulate/train.cc does. One owner.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "research/learn/imitation.h"
#include "research/learn/learner.h"
#include "research/learn/rollout.h"
#include "research/learn/training.h"
#include "research/learn/validation.h"

namespace smartmig {

class Trainer : public Training {
 public:
  static Result<std::unique_ptr<Trainer>> make(const TrainConfig& config, int threads);
  static Result<std::unique_ptr<Trainer>> resume(const std::string& name, std::string_view checkpoint, int threads,
                                                 const std::function<Result<Ok>(TrainConfig&)>& change = {});

  const TrainConfig& config() const override { return config_; }
  Result<Ok> start(const std::function<void(const LessonReport&)>& told = {}) override;
  bool finished() const override { return update_ >= updates_; }
  std::uint64_t updates_done() const override { return update_; }
  std::uint64_t jobs_done() const override { return jobs_; }
  std::uint64_t steps_done() const override { return env_steps_; }
  Result<UpdateReport> update() override;
  Result<EvalReport> evaluate(Sampling sampling) override { return validation_.run(policy(), sampling); }
  std::string checkpoint() override;
  PolicyFile policy() const override;
  const Network& network() const { return learner_->network(); }

 private:
  Trainer(const TrainConfig& config, std::shared_ptr<const EnvSetup> setup, int threads);
  Result<Ok> imitate(const std::function<void(const LessonReport&)>& told);
  void take_normaliser();
  double gamma() const;  // for this update
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
  Validation validation_;
};

}  // namespace smartmig
