#include "research/learn/dqn.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/rng.h"

namespace smartmig {
namespace {

std::size_t best_of(std::span<const float> row) {
  return std::size_t(std::max_element(row.begin(), row.end()) - row.begin());
}

}  // namespace

void duelling_values(std::span<const float> advantages, float value, std::span<double> out) {
  double mean = 0;
  for (const float a : advantages) mean += double(a);
  mean /= double(advantages.size());
  for (std::size_t c = 0; c < advantages.size(); ++c) out[c] = double(value) + double(advantages[c]) - mean;
}

DqnTrainer::DqnTrainer(const TrainConfig& config, std::shared_ptr<const EnvSetup> setup, int threads)
    : config_(config),
      setup_(std::move(setup)),
      pool_(threads),
      validation_(config_, setup_, pool_),
      size_(network_size_of(config_, *setup_)),
      replay_(std::size_t(config_.num_envs), std::size_t(config_.memory / config_.num_envs), std::size_t(size_.inputs),
              std::size_t(config_.n_step)),
      seen_(std::size_t(size_.inputs)),
      returns_(1) {
  const std::size_t envs = std::size_t(config_.num_envs);
  learner_ = std::make_unique<Learner>(size_, pool_);
  learner_->initialise(std::uint64_t(config_.seed), 0);
  collector_ = std::make_unique<Collector>(setup_, size_, 1, envs, std::uint64_t(config_.seed), pool_);
  running_return_.assign(envs, 0);
  for (int t = 0; t < pool_.threads(); ++t)
    desks_.push_back(std::make_unique<Desk>(
        Desk{BatchNet(size_, Learner::kChunk), std::vector<float>(Learner::kChunk * std::size_t(size_.inputs))}));
  const double jobs_per_update = double(config_.num_envs * config_.num_steps) *
                                 double(events_per_call(setup_->platform->gpus(), setup_->cost)) / 2;
  updates_ = std::uint64_t(std::ceil(double(config_.total_jobs) / jobs_per_update));
}

Result<std::unique_ptr<DqnTrainer>> DqnTrainer::make(const TrainConfig& given, int threads) {
  SMARTMIG_RETURN_IF_ERROR(check_train_config(given));
  if (!given.teacher.empty()) return invalid("train.algorithm dqn takes no teacher; leave out imitate.*");
  TrainConfig config = given;
  config.foresight = false;  // Q acts, so it may see only what a controller sees
  config.sampling = name_of(Sampling::kGreedy);
  config.top_k = 1;
  SMARTMIG_TRY(auto setup, EnvSetup::make(config));
  if (setup->platform->gpus() != 1)
    return invalid("train.algorithm dqn chooses the layout of one GPU, and env.gpus is {}: use ppo for a fleet",
                   config.gpus);
  SMARTMIG_RETURN_IF_ERROR(make_policy(config.baseline, {}, setup->cost, *setup->platform));
  return std::unique_ptr<DqnTrainer>(new DqnTrainer(config, std::move(setup), threads));
}

Result<Ok> DqnTrainer::start(const std::function<void(const LessonReport&)>&) {
  target_ = learner_->network();
  if (updates_ == 0) return Ok{};
  return collector_->begin();
}

double DqnTrainer::epsilon() const {
  const double done = double(update_) / std::max(1.0, config_.epsilon_share * double(updates_));
  return done >= 1 ? config_.epsilon_end : config_.epsilon_start + done * (config_.epsilon_end - config_.epsilon_start);
}

// Makes train.num_steps calls of one environment.
void DqnTrainer::step_environment(std::size_t e, double epsilon, Sums& sums) {
  const Network& network = learner_->network();
  const std::size_t layouts = std::size_t(size_.layouts);
  Env& env = collector_->envs()[e];
  Network::Scratch scratch;
  std::vector<float> x(std::size_t(size_.inputs)), logits(layouts * layouts);
  sums.seen = RunningStats(std::size_t(size_.inputs));
  std::uint64_t arrived = env.cluster().counters().arrivals;
  for (std::int64_t t = 0; t < config_.num_steps; ++t) {
    const std::vector<float> raw(env.raw().begin(), env.raw().end());
    sums.seen.add(raw);
    Rng rng(mix64(mix64(std::uint64_t(config_.seed), 0xD09 + e), env.number()), env.decision());
    std::uint8_t action;
    if (rng.uniform() < epsilon) {
      action = std::uint8_t(rng.below(layouts));
    } else {
      network.normalise(raw, x);
      network.logits(x, scratch, logits);
      action = std::uint8_t(best_of(std::span(logits).first(layouts)));
    }
    const EnvStep step = env.act({&action, 1});
    ++collector_->calls()[e];
    replay_.add(e, raw, action, float(step.reward), step.done, step.truncated);
    if (!env.over()) continue;
    if (env.skipped() == Time{0}) {
      ++sums.whole_days;
      sums.day_return += env.day_return();
      sums.calls += collector_->calls()[e];
    }
    sums.jobs += env.cluster().counters().arrivals - arrived;
    if (const auto begun = env.begin(env.number() + std::uint64_t(config_.num_envs)); !begun) {
      sums.error = begun.error();
      return;
    }
    collector_->calls()[e] = 0;
    arrived = env.cluster().counters().arrivals;
  }
  sums.jobs += env.cluster().counters().arrivals - arrived;
}

Result<Ok> DqnTrainer::collect(UpdateReport& report) {
  const std::size_t envs = std::size_t(config_.num_envs);
  std::vector<Sums> sums(envs);
  report.epsilon = epsilon();
  pool_.run(envs, [&](std::size_t e, int) { step_environment(e, report.epsilon, sums[e]); });
  const bool adapt = update_ < std::uint64_t(config_.norm_updates);
  double day_return = 0;
  std::uint64_t whole_days = 0, calls = 0;
  for (std::size_t e = 0; e < envs; ++e) {
    if (sums[e].error) return *sums[e].error;
    jobs_ += sums[e].jobs;
    day_return += sums[e].day_return;
    whole_days += sums[e].whole_days;
    calls += sums[e].calls;
    days_used_ = std::max(days_used_, collector_->envs()[e].number() + 1);
    if (!adapt) continue;
    seen_.merge(sums[e].seen);
    // The deviation of the discounted return, which scales rewards as in PPO.
    for (const Replay::Reward& last : replay_.last_rewards(e, std::size_t(config_.num_steps))) {
      running_return_[e] = running_return_[e] * config_.gamma + double(last.reward);
      const float now = float(running_return_[e]);
      returns_.add({&now, 1});
      if (last.ends) running_return_[e] = 0;
    }
  }
  if (whole_days > 0) {
    report.episodic_return = day_return / double(whole_days);
    report.episode_calls = double(calls) / double(whole_days);
  }
  if (adapt && config_.norm_obs)
    for (Network* network : {&learner_->network(), &target_})
      for (std::size_t i = 0; i < seen_.width(); ++i) {
        network->mean()[i] = float(seen_.mean(i));
        network->scale()[i] = float(seen_.scale(i));
      }
  env_steps_ += envs * std::size_t(config_.num_steps);
  return Ok{};
}

// The target values of Q for samples [first, first + n): the network chooses the next action, the target network gives
// its value.
void DqnTrainer::value_targets(std::size_t first, std::size_t n, double scale, Desk& desk) {
  const std::size_t layouts = std::size_t(size_.layouts), inputs = std::size_t(size_.inputs);
  for (std::size_t i = 0; i < n; ++i)
    learner_->network().normalise(replay_.raw(batch_[first + i].after), {desk.x.data() + i * inputs, inputs});
  desk.net.forward(learner_->network(), desk.x.data(), n, BatchNet::kActor);
  std::vector<std::size_t> chosen(n);
  for (std::size_t i = 0; i < n; ++i) chosen[i] = best_of(desk.net.logits(i).first(layouts));
  desk.net.forward(target_, desk.x.data(), n, BatchNet::kBoth);
  std::vector<double> q(layouts);
  for (std::size_t i = 0; i < n; ++i) {
    const Replay::Sample& sample = batch_[first + i];
    duelling_values(desk.net.logits(i).first(layouts), desk.net.value(i), q);
    wanted_[first + i] = float(sample.reward * scale + sample.discount * q[chosen[i]]);
  }
}

Result<Ok> DqnTrainer::learn(UpdateReport& report) {
  const std::size_t batch = std::size_t(config_.minibatch), layouts = std::size_t(size_.layouts);
  const std::size_t inputs = std::size_t(size_.inputs);
  const std::size_t steps =
      std::size_t(config_.update_epochs * config_.num_envs * config_.num_steps / config_.minibatch);
  const double left = config_.anneal_lr ? 1 - double(update_) / double(std::max<std::uint64_t>(1, updates_)) : 1;
  const double scale = config_.norm_reward && returns_.scale(0) > 0 ? returns_.scale(0) : 1;
  report.learning_rate = config_.learning_rate * left;
  batch_.resize(batch);
  wanted_.resize(batch);
  LossSums sums;
  for (std::size_t step = 0; step < steps; ++step) {
    Rng rng(mix64(std::uint64_t(config_.seed), 0x5A3 + update_), step);
    for (Replay::Sample& sample : batch_) sample = replay_.draw(rng, config_.gamma);
    const std::size_t chunks = (batch + Learner::kChunk - 1) / Learner::kChunk;
    pool_.run(chunks, [&](std::size_t c, int thread) {
      const std::size_t first = c * Learner::kChunk;
      value_targets(first, std::min(Learner::kChunk, batch - first), scale, *desks_[std::size_t(thread)]);
    });
    const auto chunk = [&](std::size_t first, std::size_t n, Learner::Workspace& work, LossSums& out) {
      for (std::size_t i = 0; i < n; ++i)
        learner_->network().normalise(replay_.raw(batch_[first + i].at), {work.x.data() + i * inputs, inputs});
      work.net.forward(learner_->network(), work.x.data(), n, BatchNet::kBoth);
      std::vector<double> q(layouts);
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t at = batch_[first + i].at, action = replay_.action(at);
        duelling_values(work.net.logits(i).first(layouts), work.net.value(i), q);
        const double error = q[action] - double(wanted_[first + i]);
        const double slope = std::clamp(error, -1.0, 1.0) / double(batch);  // derivative of the Huber loss
        out.value += std::abs(error) < 1 ? 0.5 * error * error : std::abs(error) - 0.5;
        out.policy += q[action];  // mean Q, for the log
        const auto d = work.net.d_logits(i);
        std::fill(d.begin(), d.end(), 0.0f);
        for (std::size_t c = 0; c < layouts; ++c) d[c] = float(slope * (double(c == action) - 1 / double(layouts)));
        work.net.d_value(i) = float(slope);
      }
    };
    SMARTMIG_TRY(const LossSums one, learner_->step(batch, report.learning_rate, config_.max_grad_norm, chunk));
    sums.add(one);
    if (++steps_ % std::uint64_t(config_.target_every) == 0) target_ = learner_->network();
  }
  const double per_sample = 1 / double(std::max<std::size_t>(1, steps * batch));
  report.loss.value = sums.value * per_sample;
  report.q_mean = sums.policy * per_sample;
  report.grad_norm = learner_->last_norm();
  report.epochs = int(config_.update_epochs);
  return Ok{};
}

Result<UpdateReport> DqnTrainer::update() {
  UpdateReport report;
  auto begin = std::chrono::steady_clock::now();
  SMARTMIG_RETURN_IF_ERROR(collect(report));
  report.simulation_s = seconds_since(begin);
  begin = std::chrono::steady_clock::now();
  if (replay_.can_draw()) SMARTMIG_RETURN_IF_ERROR(learn(report));
  report.update_s = seconds_since(begin);
  report.update = ++update_;
  report.updates = updates_;
  report.jobs = jobs_;
  report.env_steps = report.agent_steps = env_steps_;
  return report;
}

std::string DqnTrainer::checkpoint() {
  std::vector<Section> sections = policy_sections(policy());
  sections.push_back({"conf", to_toml(config_)});
  return to_container(sections);
}

PolicyFile DqnTrainer::policy() const {
  Network network = learner_->network();
  const Network::Layer& head = network.actor().back();
  const std::size_t layouts = std::size_t(size_.layouts), width = std::size_t(head.out);
  const auto copy_first_row = [&](std::size_t at) {  // copies it to the other rows
    float* const first = network.parameters().data() + at;
    for (std::size_t row = 1; row < layouts; ++row) std::copy_n(first, layouts, first + row * layouts);
  };
  for (std::size_t i = 0; i < std::size_t(head.in); ++i) copy_first_row(head.weights + i * width);
  copy_first_row(head.bias);
  return policy_file_of(config_, *setup_, network, days_used_,
                        fmt::format("{} jobs of training by DQN, {} updates", jobs_, update_));
}

}  // namespace smartmig
