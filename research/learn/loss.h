// The losses, as derivatives with respect to logits and value. The policy of one controller call is a product over
// GPUs:
// pi = prod h'[from][to], where h' is the row, cut to the k columns that the call kept and renormalised on them. With
// N[from][to] GPUs, M in all, and ratio r = h'_new / h'_old per agent:
//   policy   -1/M sum N min(r A, clamp(r, 1 - c, 1 + c) A)      advantage A shared by all GPUs of a call
//   entropy  1/M sum over rows of (GPUs in the row) * (entropy of h' on the kept columns)
//   value    1/2 max((v - R)^2, (v_old + clamp(v - v_old, -c_v, c_v) - R)^2)
//   imitate  -1/W sum W[from][to] log h[from][to], over whole rows, W the teacher's weights, their sum 1
// total = policy - ent_coef * entropy + vf_coef * value. Pure functions; sums in double, in order.
#pragma once
#include <cstdint>
#include <span>

namespace smartmig {

struct LossOptions {
  double clip = 0.2, clip_value = 0.2, entropy = 0, value = 0.5;
};

// One controller call as the rollout stored it, [row][k].
struct CallView {
  std::size_t layouts, k;
  const std::uint8_t* columns;
  const std::uint16_t* counts;   // GPUs that made this transition
  const float* log_probability;  // of h' at the time of the call; only where counts > 0
  float advantage, target, old_value;
};

struct LossSums {
  double policy = 0, value = 0, entropy = 0, kl = 0, clipped = 0;
  void add(const LossSums& other) {
    policy += other.policy;
    value += other.value;
    entropy += other.entropy;
    kl += other.kl;
    clipped += other.clipped;
  }
};

// Adds one call to `sums` and writes weight * d(total)/d(logits) and d(value).
void ppo_loss(const CallView& call, const LossOptions& options, double weight, std::span<const float> logits,
              float value, std::span<float> d_logits, float& d_value, LossSums& sums);

// Cross entropy; `teacher` is [layouts][layouts].
double imitation_loss(std::span<const float> teacher, std::size_t layouts, double weight, std::span<const float> logits,
                      std::span<float> d_logits);

// Generalised advantage estimation over one environment's calls. Computes advantages[t] from rewards, values, `ends`
// (the day ended with this call: no bootstrapping across it) and the value after the last call.
void gae(std::span<const float> rewards, std::span<const float> values, std::span<const std::uint8_t> ends,
         float last_value, double gamma, double lambda, std::span<float> advantages);

}  // namespace smartmig
