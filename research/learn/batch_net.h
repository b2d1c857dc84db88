// A network over batches, forward and backward, with its own buffers: use one BatchNet per thread. Gradients are with
// respect to parameters(), in the same flat order. Inputs are normalised observations, [n][inputs + foresight].
#pragma once
#include <span>
#include <vector>

#include "policy/net/network.h"
#include "research/learn/kernels.h"

namespace smartmig {

class BatchNet {
 public:
  BatchNet(const NetworkSize& size, std::size_t max_batch);

  enum Part { kActor = 1, kCritic = 2, kBoth = 3 };
  void forward(const Network& network, const float* x, std::size_t n, Part part);
  std::span<float> logits(std::size_t i) { return {actor_.back().data() + i * outputs_, outputs_}; }
  float value(std::size_t i) const { return critic_.back()[i]; }

  // After forward(kBoth): computes the gradient of a loss from its derivatives by logits() and value(), which the
  // caller puts into d_logits() and d_value(). Overwrites `gradient`.
  std::span<float> d_logits(std::size_t i) { return {d_actor_.data() + i * outputs_, outputs_}; }
  float& d_value(std::size_t i) { return d_critic_[i]; }
  // The transpose of a network's weights, which backward() needs. Make it once per change of the parameters.
  static void transpose(const Network& network, std::vector<float>& out);
  void backward(const Network& network, const std::vector<float>& transposed, const float* x, std::size_t n,
                float* gradient);

 private:
  using Activations = std::vector<std::vector<float>>;
  void run(const Network& network, std::span<const Network::Layer> layers, const float* x, std::size_t x_row,
           std::size_t n, Activations& out);
  void back(std::span<const Network::Layer> layers, const std::vector<float>& transposed, const float* x,
            std::size_t x_row, std::size_t n, const Activations& y, const float* d_out, float* gradient);

  std::size_t all_inputs_, outputs_;
  Activations actor_, critic_;  // outputs of each layer
  std::vector<float> d_actor_, d_critic_, d_a_, d_b_;
  const Kernels& kernels_;
};

}  // namespace smartmig
