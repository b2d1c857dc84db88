// Deep Q-learning of one GPU's next layout (Mnih et al. 2015). It uses the environment, the inputs and the policy files
// of PPO (trainer.h). The predecessor of the one-GPU paper reportedly used DQN.
//
// The network's two parts form a duelling pair (Wang et al. 2016): the value of going to layout c is
// Q = V(x) + A[c] - mean of A, V the critic and A the first row of the actor's outputs. The layout that the GPU has is
// among the inputs, so one row serves all, and every call trains it. A policy file repeats that row in each of its
// rows; the largest entry is the best action, so use a DQN network greedily. Double Q-learning (van Hasselt et al.
// 2016), n-step returns, Huber loss, a periodically copied target network, random actions with probability epsilon.
// Rewards and inputs are scaled as PPO scales them.
//
// A run is a function of its config, equal to the byte for any number of threads. It cannot be resumed: its checkpoint
// lacks the replay memory.
#pragma once
#include <memory>
#include <vector>

#include "research/learn/learner.h"
#include "research/learn/replay.h"
#include "research/learn/rollout.h"
#include "research/learn/training.h"
#include "research/learn/validation.h"

namespace smartmig {

// Q of every action of a row: V + A - mean A.
void duelling_values(std::span<const float> advantages, float value, std::span<double> out);

class DqnTrainer : public Training {
 public:
  static Result<std::unique_ptr<DqnTrainer>> make(const TrainConfig& config, int threads);

  const TrainConfig& config() const override { return config_; }
  Result<Ok> start(const std::function<void(const LessonReport&)>& told = {}) override;
  bool finished() const override { return update_ >= updates_; }
  std::uint64_t updates_done() const override { return update_; }
  std::uint64_t jobs_done() const override { return jobs_; }
  std::uint64_t steps_done() const override { return env_steps_; }
  Result<UpdateReport> update() override;
  Result<EvalReport> evaluate(Sampling) override { return validation_.run(policy(), Sampling::kGreedy); }
  std::string checkpoint() override;  // only the policy and its config
  PolicyFile policy() const override;

 private:
  struct Sums {  // of one environment in one update
    RunningStats seen{0};
    double day_return = 0;
    std::uint64_t jobs = 0, whole_days = 0, calls = 0;
    std::optional<Error> error;
  };
  struct Desk {  // one thread's buffers
    BatchNet net;
    std::vector<float> x;
  };
  DqnTrainer(const TrainConfig& config, std::shared_ptr<const EnvSetup> setup, int threads);
  double epsilon() const;
  Result<Ok> collect(UpdateReport& report);
  void step_environment(std::size_t e, double epsilon, Sums& sums);
  void value_targets(std::size_t first, std::size_t n, double scale, Desk& desk);
  Result<Ok> learn(UpdateReport& report);

  TrainConfig config_;
  std::shared_ptr<const EnvSetup> setup_;
  WorkerPool pool_;
  Validation validation_;
  NetworkSize size_;
  std::unique_ptr<Learner> learner_;
  std::unique_ptr<Collector> collector_;  // begins the days
  Network target_;
  Replay replay_;
  RunningStats seen_, returns_;
  std::vector<double> running_return_;  // discounted, by environment
  std::vector<std::unique_ptr<Desk>> desks_;
  std::vector<Replay::Sample> batch_;
  std::vector<float> wanted_;  // target Q of each sample of the batch
  std::uint64_t update_ = 0, updates_ = 0, jobs_ = 0, env_steps_ = 0, steps_ = 0, days_used_ = 0;
};

}  // namespace smartmig
