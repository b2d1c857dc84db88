#include "research/learn/trainer.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "base/rng.h"

namespace smartmig {
Trainer::Trainer(const TrainConfig& config, std::shared_ptr<const EnvSetup> setup, int threads)
    : config_(config), setup_(std::move(setup)), pool_(threads), validation_(config_, setup_, pool_) {
  const NetworkSize size = network_size_of(config_, *setup_);
  const std::size_t envs = std::size_t(config_.num_envs), steps = std::size_t(config_.num_steps);
  const std::size_t inputs = std::size_t(size.inputs + size.foresight);
  learner_ = std::make_unique<Learner>(size, pool_);
  learner_->initialise(std::uint64_t(config_.seed), config_.stay_bias);
  collector_ = std::make_unique<Collector>(setup_, size, int(config_.top_k), envs, std::uint64_t(config_.seed), pool_);
  rollout_ = std::make_unique<Rollout>(envs, steps, inputs, setup_->shapes.size(), std::size_t(config_.top_k));
  seen_ = RunningStats(inputs);
  returns_ = RunningStats(1);
  running_return_.assign(envs, 0);
  scaled_.resize(rollout_->size());
  order_.resize(rollout_->size());
  // Half of the events that lead to a controller call are arrivals.
  const double jobs_per_update =
      double(envs * steps) * double(events_per_call(setup_->platform->gpus(), setup_->cost)) / 2;
  updates_ = std::uint64_t(std::ceil(double(config_.total_jobs) / jobs_per_update));
}

Result<std::unique_ptr<Trainer>> Trainer::make(const TrainConfig& config, int threads) {
  SMARTMIG_RETURN_IF_ERROR(check_train_config(config));
  SMARTMIG_RETURN_IF_ERROR(parse_sampling(config.sampling));
  SMARTMIG_TRY(auto setup, EnvSetup::make(config));
  if (std::size_t(config.top_k) > setup->shapes.size())
    return invalid("policy.top_k is {}, but there are {} layouts", config.top_k, setup->shapes.size());
  for (const std::string* name : {&config.baseline, &config.teacher})
    if (!name->empty()) SMARTMIG_RETURN_IF_ERROR(make_policy(*name, {}, setup->cost, *setup->platform));
  return std::unique_ptr<Trainer>(new Trainer(config, std::move(setup), threads));
}

// Horizons 1 / (1 - x) grow by equal factors, from start to end, over the first `ramp` of the run.
static double ramped(double start, double end, double done) {
  if (start <= 0 || end >= 1 || done >= 1) return end;
  return 1 - deterministic_exp((1 - done) * deterministic_log(1 - start) + done * deterministic_log(1 - end));
}
double Trainer::gamma() const {
  return ramped(config_.gamma_start, config_.gamma, double(update_) / std::max(1.0, config_.ramp * double(updates_)));
}
double Trainer::lambda() const {
  return ramped(config_.lambda_start, config_.gae_lambda,
                double(update_) / std::max(1.0, config_.ramp * double(updates_)));
}

void Trainer::take_normaliser() {
  if (!config_.norm_obs) return;
  Network& network = learner_->network();
  for (std::size_t i = 0; i < seen_.width(); ++i) {
    network.mean()[i] = float(seen_.mean(i));
    network.scale()[i] = float(seen_.scale(i));
  }
}

Result<Ok> Trainer::start(const std::function<void(const LessonReport&)>& told) {
  if (!config_.teacher.empty()) SMARTMIG_RETURN_IF_ERROR(imitate(told));
  if (updates_ == 0) return Ok{};
  SMARTMIG_RETURN_IF_ERROR(collector_->begin());
  if (config_.teacher.empty()) {  // one rollout beforehand, so that the first update sees normalised inputs
    SMARTMIG_TRY(const RolloutSums sums, collector_->collect(learner_->network(), gamma(), *rollout_, seen_));
    jobs_ += sums.jobs;
    take_normaliser();
  }
  return Ok{};
}

// Divides rewards by the running deviation of the discounted return, environments in order.
void Trainer::scale_rewards(bool adapt) {
  Rollout& r = *rollout_;
  const double discount = gamma();
  for (std::size_t e = 0; e < r.envs; ++e)
    for (std::size_t t = 0; t < r.steps; ++t) {
      const std::size_t at = e * r.steps + t;
      running_return_[e] = running_return_[e] * discount + double(r.reward[at]);
      const float now = float(running_return_[e]);
      if (adapt) returns_.add({&now, 1});
      if (r.ends[at]) running_return_[e] = 0;
    }
  const double scale = config_.norm_reward && returns_.scale(0) > 0 ? returns_.scale(0) : 1;
  for (std::size_t i = 0; i < r.size(); ++i) scaled_[i] = float(double(r.reward[i]) * scale + double(r.bootstrap[i]));
}

Result<UpdateReport> Trainer::update() {
  UpdateReport report;
  Rollout& r = *rollout_;
  auto begin = std::chrono::steady_clock::now();
  const bool adapt = update_ < std::uint64_t(config_.norm_updates);
  RunningStats ignored(seen_.width());
  SMARTMIG_TRY(const RolloutSums sums, collector_->collect(learner_->network(), gamma(), r, adapt ? seen_ : ignored));
  const double wall = seconds_since(begin), threads_s = sums.simulation_s + sums.inference_s;
  report.simulation_s = wall * sums.simulation_s / std::max(1e-12, threads_s);
  report.inference_s = wall - report.simulation_s;
  begin = std::chrono::steady_clock::now();
  scale_rewards(adapt);
  double error = 0, spread = 0, mean = 0;
  for (std::size_t e = 0; e < r.envs; ++e) {
    const std::size_t at = e * r.steps;
    gae({scaled_.data() + at, r.steps}, {r.value.data() + at, r.steps}, {r.ends.data() + at, r.steps}, r.last_value[e],
        gamma(), lambda(), {r.advantage.data() + at, r.steps});
  }
  for (std::size_t i = 0; i < r.size(); ++i) {
    r.target[i] = r.advantage[i] + r.value[i];
    mean += double(r.target[i]) / double(r.size());
  }
  for (std::size_t i = 0; i < r.size(); ++i) {
    error += double(r.advantage[i]) * double(r.advantage[i]);
    spread += (double(r.target[i]) - mean) * (double(r.target[i]) - mean);
  }
  report.explained_variance = spread > 0 ? 1 - error / spread : 0;
  SMARTMIG_TRY(report.loss, learn(report));
  if (adapt) take_normaliser();
  report.update_s = seconds_since(begin);
  ++update_;
  jobs_ += sums.jobs;
  env_steps_ += r.size();
  for (Env& env : collector_->envs()) days_used_ = std::max(days_used_, env.number() + 1);
  report.update = update_;
  report.updates = updates_;
  report.jobs = jobs_;
  report.env_steps = env_steps_;
  report.agent_steps = env_steps_ * setup_->platform->gpus();
  if (sums.whole_days > 0) {
    report.episodic_return = sums.day_return / double(sums.whole_days);
    report.episode_calls = double(sums.day_calls) / double(sums.whole_days);
  }
  return report;
}

Result<LossSums> Trainer::learn(UpdateReport& report) {
  Rollout& r = *rollout_;
  const double left = config_.anneal_lr ? 1 - double(update_) / double(std::max<std::uint64_t>(1, updates_)) : 1;
  report.learning_rate = config_.learning_rate * left;
  const std::size_t batch = std::size_t(config_.minibatch), inputs = r.inputs;
  const LossOptions options{config_.clip_coef, config_.clip_value, config_.ent_coef, config_.vf_coef};
  const bool critic_only = update_ < std::uint64_t(config_.critic_warmup);
  LossSums means;
  bool stop = false;
  for (std::int64_t epoch = 0; epoch < config_.update_epochs && !stop; ++epoch) {
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = std::uint32_t(i);
    Rng rng(mix64(std::uint64_t(config_.seed), 0x0DE12 + update_), std::uint64_t(epoch));
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[rng.below(i)]);
    LossSums sums;
    std::size_t used = 0;
    for (std::size_t at = 0; at + batch <= order_.size() && !stop; at += batch) {
      double mean = 0, square = 0;
      for (std::size_t i = 0; i < batch; ++i) mean += double(r.advantage[order_[at + i]]);
      mean /= double(batch);
      for (std::size_t i = 0; i < batch; ++i) {
        const double d = double(r.advantage[order_[at + i]]) - mean;
        square += d * d;
      }
      const double deviation = std::sqrt(square / double(std::max<std::size_t>(1, batch - 1)));
      const auto chunk = [&](std::size_t first, std::size_t n, Learner::Workspace& work, LossSums& out) {
        for (std::size_t i = 0; i < n; ++i)
          std::copy_n(r.x.data() + order_[at + first + i] * inputs, inputs, work.x.data() + i * inputs);
        work.net.forward(learner_->network(), work.x.data(), n, BatchNet::kBoth);
        for (std::size_t i = 0; i < n; ++i) {
          CallView call = r.call(order_[at + first + i]);
          if (config_.norm_adv) call.advantage = float((double(call.advantage) - mean) / (deviation + 1e-8));
          ppo_loss(call, options, 1.0 / double(batch), work.net.logits(i), work.net.value(i), work.net.d_logits(i),
                   work.net.d_value(i), out);
          if (critic_only) std::fill(work.net.d_logits(i).begin(), work.net.d_logits(i).end(), 0.0f);
        }
      };
      SMARTMIG_TRY(const LossSums step, learner_->step(batch, report.learning_rate, config_.max_grad_norm, chunk));
      sums.add(step);
      used += batch;
      if (config_.target_kl > 0 && step.kl / double(batch) > 1.5 * config_.target_kl) stop = true;
    }
    const double scale = 1.0 / double(std::max<std::size_t>(1, used));
    means = {sums.policy * scale, sums.value * scale, sums.entropy * scale, sums.kl * scale, sums.clipped * scale};
    ++report.epochs;
  }
  report.grad_norm = learner_->last_norm();
  return means;
}

PolicyFile Trainer::policy() const {
  return policy_file_of(config_, *setup_, learner_->network(), days_used_,
                        fmt::format("{} jobs of training, {} updates", jobs_, update_));
}

}  // namespace smartmig
