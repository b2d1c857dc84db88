#include "research/learn/loss.h"

#include <algorithm>
#include <array>

#include "base/math.h"
#include "policy/net/float_math.h"

namespace smartmig {

void ppo_loss(const CallView& call, const LossOptions& options, double weight, std::span<const float> logits,
              float value, std::span<float> d_logits, float& d_value, LossSums& sums) {
  std::fill(d_logits.begin(), d_logits.end(), 0.0f);
  const std::size_t k = call.k;
  int gpus = 0;
  for (std::size_t i = 0; i < call.layouts * k; ++i) gpus += call.counts[i];
  const double per_gpu = gpus > 0 ? 1.0 / gpus : 0;
  const double advantage = double(call.advantage);
  std::array<double, 256> p, log_p;
  for (std::size_t row = 0; row < call.layouts; ++row) {
    const std::uint16_t* counts = call.counts + row * k;
    int in_row = 0;
    for (std::size_t j = 0; j < k; ++j) in_row += counts[j];
    if (in_row == 0) continue;
    const std::uint8_t* columns = call.columns + row * k;
    const float* from = logits.data() + row * call.layouts;
    float largest = from[columns[0]];
    for (std::size_t j = 1; j < k; ++j) largest = std::max(largest, from[columns[j]]);
    double sum = 0;
    for (std::size_t j = 0; j < k; ++j) sum += p[j] = double(exp_float(from[columns[j]] - largest));
    const double log_sum = deterministic_log(sum);
    double entropy = 0, pull = 0;  // pull: sum of the derivatives by log p
    for (std::size_t j = 0; j < k; ++j) {
      p[j] /= sum;
      log_p[j] = double(from[columns[j]] - largest) - log_sum;
      entropy -= p[j] * log_p[j];
    }
    float* d = d_logits.data() + row * call.layouts;
    for (std::size_t j = 0; j < k; ++j) {
      if (counts[j] == 0) continue;
      const double share = counts[j] * per_gpu;
      const double log_ratio = log_p[j] - double(call.log_probability[row * k + j]);
      const double ratio = deterministic_exp(std::clamp(log_ratio, -20.0, 20.0));
      const double low = 1 - options.clip, high = 1 + options.clip;
      const double plain = ratio * advantage, cut = std::clamp(ratio, low, high) * advantage;
      sums.policy -= share * std::min(plain, cut);
      sums.kl += share * (ratio - 1 - log_ratio);
      sums.clipped += share * double(ratio < low || ratio > high);
      if (plain > cut) continue;  // the clipped branch is constant
      const double by_log_p = -share * plain * weight;
      d[columns[j]] += float(by_log_p);
      pull += by_log_p;
    }
    const double entropy_weight = options.entropy * in_row * per_gpu * weight;
    for (std::size_t j = 0; j < k; ++j) d[columns[j]] += float(p[j] * (entropy_weight * (log_p[j] + entropy) - pull));
    sums.entropy += in_row * per_gpu * entropy;
  }
  const double v = double(value), target = double(call.target), old = double(call.old_value);
  const double error = v - target;
  double loss = error * error, slope = error;
  if (options.clip_value > 0) {
    const double moved = std::clamp(v - old, -options.clip_value, options.clip_value);
    const double held = old + moved - target;
    if (held * held > loss) {
      loss = held * held;
      slope = moved == v - old ? held : 0;
    }
  }
  sums.value += 0.5 * loss;
  d_value = float(options.value * slope * weight);
}

double imitation_loss(std::span<const float> teacher, std::size_t layouts, double weight, std::span<const float> logits,
                      std::span<float> d_logits) {
  double loss = 0;
  std::array<double, 256> p;
  for (std::size_t row = 0; row < layouts; ++row) {
    const float* want = teacher.data() + row * layouts;
    const float* from = logits.data() + row * layouts;
    float* d = d_logits.data() + row * layouts;
    double total = 0;
    for (std::size_t j = 0; j < layouts; ++j) total += double(want[j]);
    if (total == 0) {
      std::fill_n(d, layouts, 0.0f);
      continue;
    }
    const float largest = *std::max_element(from, from + layouts);
    double sum = 0;
    for (std::size_t j = 0; j < layouts; ++j) sum += p[j] = double(exp_float(from[j] - largest));
    const double log_sum = deterministic_log(sum);
    for (std::size_t j = 0; j < layouts; ++j) {
      loss -= double(want[j]) * (double(from[j] - largest) - log_sum);
      d[j] = float(weight * (total * p[j] / sum - double(want[j])));
    }
  }
  return loss;
}

void gae(std::span<const float> rewards, std::span<const float> values, std::span<const std::uint8_t> ends,
         float last_value, double gamma, double lambda, std::span<float> advantages) {
  double next_value = double(last_value), advantage = 0;
  for (std::size_t t = rewards.size(); t-- > 0;) {
    const double on = ends[t] ? 0 : 1;
    const double delta = double(rewards[t]) + gamma * next_value * on - double(values[t]);
    advantage = delta + gamma * lambda * on * advantage;
    advantages[t] = float(advantage);
    next_value = double(values[t]);
  }
}

}  // namespace smartmig
