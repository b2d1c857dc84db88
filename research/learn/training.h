// A training run as the command line sees it, whatever the algorithm: PPO (trainer.h) or DQN (dqn.h). Both step the
// same environment, are judged on the same validation days and write the same kind of policy file.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "policy/net/network_file.h"
#include "research/learn/loss.h"
#include "research/learn/train_config.h"

namespace smartmig {

struct UpdateReport {
  std::uint64_t update = 0, updates = 0;
  std::uint64_t jobs = 0, env_steps = 0, agent_steps = 0;  // since the start
  double learning_rate = 0;
  LossSums loss;  // means of the last epoch
  double explained_variance = 0, grad_norm = 0;
  double epsilon = 0, q_mean = 0;  // DQN: share of random actions, mean value of the trained actions
  int epochs = 0;
  std::optional<double> episodic_return, episode_calls;    // means over the whole days that ended; empty if none did
  double simulation_s = 0, inference_s = 0, update_s = 0;  // wall time of this update
};

struct LessonReport {
  std::int64_t round = 0, epoch = 0;
  double cross_entropy = 0, value_loss = 0;
  double teacher_et = 0;  // mean over the round's days; of the teacher or the learner, whichever drove
};

struct EvalReport {
  std::size_t days = 0;
  double et = 0, tardiness_min = 0, energy_wmin = 0, baseline_et = 0;  // ET with the workloads' weights
  double difference = 0, half_width = 0;                               // of et - baseline_et, 95 %
  double relative() const { return baseline_et > 0 ? et / baseline_et - 1 : 0; }
};

struct EnvSetup;
NetworkSize network_size_of(const TrainConfig& config, const EnvSetup& setup);
// A network as a policy file. days_used: the number of training days used, from the first on.
PolicyFile policy_file_of(const TrainConfig& config, const EnvSetup& setup, const Network& network,
                          std::uint64_t days_used, std::string note);

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

class Training {
 public:
  virtual ~Training() = default;
  // Makes the algorithm of train.algorithm.
  static Result<std::unique_ptr<Training>> make(const TrainConfig& config, int threads);
  static Result<std::unique_ptr<Training>> resume(const std::string& name, std::string_view checkpoint, int threads,
                                                  const std::function<Result<Ok>(TrainConfig&)>& change = {});

  virtual const TrainConfig& config() const = 0;
  // Runs the lessons, if any, and begins the first days. Call it once on a fresh run, never on a resumed one.
  virtual Result<Ok> start(const std::function<void(const LessonReport&)>& told = {}) = 0;
  virtual bool finished() const = 0;
  virtual std::uint64_t updates_done() const = 0;
  virtual std::uint64_t jobs_done() const = 0;
  virtual std::uint64_t steps_done() const = 0;
  virtual Result<UpdateReport> update() = 0;
  virtual Result<EvalReport> evaluate(Sampling sampling) = 0;
  virtual std::string checkpoint() = 0;
  virtual PolicyFile policy() const = 0;
  double best_et = -1;  // validation ET of the best policy so far; below 0: none
};

}  // namespace smartmig
