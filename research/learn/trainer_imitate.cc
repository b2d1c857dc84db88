// The first phase of a run: the network learns to imitate a teacher, before it learns from its own mistakes.
#include <algorithm>

#include "base/rng.h"
#include "research/learn/trainer.h"

namespace smartmig {

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

}  // namespace smartmig
