#include "learn/trainer.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "base/rng.h"
#include "sim/simulate.h"

namespace smartmig {
namespace {

NetworkSize size_of(const TrainConfig& config, const EnvSetup& setup) {
  NetworkSize size{
      input_count(setup.features, setup.shapes.size()), setup.foresight ? kForesight : 0, int(setup.shapes.size()), {}};
  for (const std::int64_t width : config.hidden) size.hidden.push_back(int(width));
  return size;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Trainer::Trainer(const TrainConfig& config, std::shared_ptr<const EnvSetup> setup, int threads)
    : config_(config), setup_(std::move(setup)), pool_(threads) {
  const NetworkSize size = size_of(config_, *setup_);
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
  // Half of the events of a controller call are arrivals.
  const double jobs_per_update = double(envs * steps) * double(events_per_call(setup_->platform->gpus())) / 2;
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

// Horizons 1 / (1 - x) grow by equal factors, from the start's to the end's, over the first `ramp` of the run.
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
  if (config_.teacher.empty()) {  // a first look, so that the first update sees normalised inputs
    SMARTMIG_TRY(const RolloutSums sums, collector_->collect(learner_->network(), gamma(), *rollout_, seen_));
    jobs_ += sums.jobs;
    take_normaliser();
  }
  return Ok{};
}

Result<Ok> Trainer::imitate(const std::function<void(const LessonReport&)>& told) {
  Lessons lessons;
  const std::size_t inputs = rollout_->inputs, layouts = rollout_->layouts, cells = layouts * layouts;
  const std::uint64_t seed = std::uint64_t(config_.seed);
  std::vector<float> target;
  std::vector<std::uint32_t> order;
  for (std::int64_t round = 0; round < config_.imitate_rounds; ++round) {
    const PolicyFile student = policy();
    SMARTMIG_TRY(const Lessons more, record_lessons(setup_, config_.teacher, round > 0 ? &student : nullptr,
                                                    std::uint64_t(round * config_.imitate_days),
                                                    std::size_t(config_.imitate_days), seed, pool_));
    LessonReport report{round + 1, 0, 0, 0, -more.day_return / double(more.days)};
    for (std::size_t i = 0; i < more.size(); ++i) seen_.add({more.raw.data() + i * inputs, inputs});
    lessons.append(more);
    days_used_ = std::max(days_used_, std::uint64_t((round + 1) * config_.imitate_days));
    take_normaliser();

    target.resize(lessons.size());
    double running = 0;
    returns_ = RunningStats(1);
    for (std::size_t i = lessons.size(); i-- > 0;) {
      running = double(lessons.reward[i]) + (lessons.ends[i] ? 0 : gamma() * running);
      target[i] = float(running);
      returns_.add({&target[i], 1});
    }
    const double scale = config_.norm_reward ? returns_.scale(0) : 1;
    for (float& t : target) t = float(double(t) * scale);

    order.resize(lessons.size());
    const std::size_t batch = std::min<std::size_t>(std::size_t(config_.imitate_minibatch), order.size());
    for (std::int64_t epoch = 0; epoch < config_.imitate_epochs; ++epoch) {
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = std::uint32_t(i);
      Rng rng(mix64(seed, 0x1E550), std::uint64_t(round * 1'000'000 + epoch));
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
      LossSums sums;
      std::size_t used = 0;
      const double left = 1 - double(epoch) / double(config_.imitate_epochs);
      for (std::size_t at = 0; at + batch <= order.size(); at += batch) {
        const double weight = 1.0 / double(batch);
        const auto chunk = [&](std::size_t first, std::size_t n, Learner::Workspace& work, LossSums& out) {
          for (std::size_t i = 0; i < n; ++i)
            learner_->network().normalise({lessons.raw.data() + order[at + first + i] * inputs, inputs},
                                          {work.x.data() + i * inputs, inputs});
          work.net.forward(learner_->network(), work.x.data(), n, BatchNet::kBoth);
          std::vector<float> teacher(cells);
          for (std::size_t i = 0; i < n; ++i) {
            const std::size_t call = order[at + first + i];
            transition_weights({lessons.from.data() + call * layouts, layouts},
                               {lessons.to.data() + call * layouts, layouts}, config_.spread, teacher);
            out.policy += imitation_loss(teacher, layouts, weight, work.net.logits(i), work.net.d_logits(i));
            const double error = double(work.net.value(i)) - double(target[call]);
            out.value += 0.5 * error * error;
            work.net.d_value(i) = float(config_.vf_coef * error * weight);
          }
        };
        SMARTMIG_TRY(const LossSums step,
                     learner_->step(batch, config_.imitate_rate * left, config_.max_grad_norm, chunk));
        sums.add(step);
        used += batch;
      }
      report.epoch = epoch + 1;
      report.cross_entropy = sums.policy / double(used);
      report.value_loss = sums.value / double(used);
      if (told) told(report);
    }
  }
  learner_->reset_adam();
  return Ok{};
}

// Rewards divided by the running deviation of the discounted return, environments in order.
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

Result<EvalReport> Trainer::evaluate(Sampling sampling) {
  const std::size_t days = std::size_t(config_.eval_days);
  const auto run_day = [&](const TrainingDay& day, Policy& policy,
                           const std::vector<Shape>& shapes) -> Result<Summary> {
    SMARTMIG_TRY(auto initial, initial_layouts(*setup_->platform, shapes));
    SMARTMIG_TRY(SimResult result,
                 simulate({setup_->platform, day.jobs, setup_->cost, std::move(initial), day.a_eff}, policy));
    if (result.refused > 0) return invalid("{} illegal actions; the last: {}", result.refused, result.last_refusal);
    return result.summary;
  };
  const auto options_of = [&](const TrainingDay& day) {
    PolicyOptions options;
    options.rule.a = setup_->a;
    options.rule.w = day.a_eff * double(day.jobs->size());
    options.rule.seed = std::uint64_t(config_.seed);
    return options;
  };
  std::vector<std::optional<Error>> errors(days);
  if (validation_.empty()) {
    validation_.resize(days);
    pool_.run(days, [&](std::size_t d, int) {
      const auto made = [&]() -> Result<Ok> {
        SMARTMIG_TRY(validation_[d].day, make_training_day(*setup_, d, std::uint64_t(config_.eval_first_seed) + d));
        SMARTMIG_TRY(NamedPolicy named,
                     make_policy(config_.baseline, options_of(validation_[d].day), setup_->cost, *setup_->platform));
        SMARTMIG_TRY(const Summary summary, run_day(validation_[d].day, *named.policy, named.initial));
        validation_[d].baseline_et = summary.et;
        return Ok{};
      }();
      if (!made) errors[d] = made.error();
    });
  }
  const PolicyFile file = policy();
  std::vector<Summary> summaries(days);
  pool_.run(days, [&](std::size_t d, int) {
    if (errors[d]) return;
    const auto made = [&]() -> Result<Ok> {
      SMARTMIG_TRY(auto controller,
                   MeanFieldRepartitioner::make(file, *setup_->platform, std::uint64_t(config_.seed), sampling));
      const auto shapes = controller->initial();
      SMARTMIG_TRY(auto placer, make_placer(setup_->placer, options_of(validation_[d].day), setup_->cost));
      PairPolicy pair(std::move(controller), std::move(placer));
      SMARTMIG_TRY(summaries[d], run_day(validation_[d].day, pair, shapes));
      return Ok{};
    }();
    if (!made) errors[d] = made.error();
  });
  for (const auto& error : errors)
    if (error) {
      validation_.clear();
      return *error;
    }
  EvalReport report;
  report.days = days;
  const double per_day = days > 0 ? 1.0 / double(days) : 0;
  for (std::size_t d = 0; d < days; ++d) {
    report.et += summaries[d].et * per_day;
    report.tardiness_min += summaries[d].mean_tardiness_min * per_day;
    report.energy_wmin += summaries[d].energy_wmin * per_day;
    report.baseline_et += validation_[d].baseline_et * per_day;
  }
  report.difference = report.et - report.baseline_et;
  double square = 0;
  for (std::size_t d = 0; d < days; ++d) {
    const double off = summaries[d].et - validation_[d].baseline_et - report.difference;
    square += off * off;
  }
  if (days > 1) report.half_width = 1.96 * std::sqrt(square / double(days - 1) / double(days));
  return report;
}

PolicyFile Trainer::policy() const {
  PolicyFile file;
  Controller controller;
  const GpuModel& gpu = *setup_->platform->models()[0].gpu;
  controller.gpu = gpu.name();
  controller.paper_shapes = !paper_shapes(gpu).empty();
  for (const Shape& shape : setup_->shapes) controller.shapes.push_back(to_string(gpu, shape));
  for (const Shape& shape : setup_->initial) controller.initial.push_back(to_string(gpu, shape));
  controller.features = setup_->features;
  controller.top_k = int(config_.top_k);
  controller.sampling = parse_sampling(config_.sampling).value();
  controller.network = learner_->network();
  file.controllers.push_back(std::move(controller));
  if (days_used_ > 0) {
    file.first_seed = setup_->first_seed;
    file.last_seed = setup_->first_seed + std::min(days_used_, setup_->seeds) - 1;
  }
  file.note = fmt::format("{} jobs of training, {} updates", jobs_, update_);
  file.config = to_toml(config_);
  return file;
}

}  // namespace smartmig
