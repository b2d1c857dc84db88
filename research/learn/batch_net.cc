#include "research/learn/batch_net.h"

#include <algorithm>

#include "base/check.h"

namespace smartmig {

BatchNet::BatchNet(const NetworkSize& size, std::size_t max_batch)
    : all_inputs_(std::size_t(size.inputs + size.foresight)),
      outputs_(std::size_t(size.layouts * size.layouts)),
      kernels_(kernels()) {
  std::size_t widest = 1;
  for (const int width : size.hidden) {
    actor_.emplace_back(max_batch * std::size_t(width));
    critic_.emplace_back(max_batch * std::size_t(width));
    widest = std::max(widest, std::size_t(width));
  }
  actor_.emplace_back(max_batch * outputs_);
  critic_.emplace_back(max_batch);
  d_actor_.resize(max_batch * outputs_);
  d_critic_.resize(max_batch);
  d_a_.resize(max_batch * widest);
  d_b_.resize(max_batch * widest);
}

void BatchNet::run(const Network& network, std::span<const Network::Layer> layers, const float* x, std::size_t x_row,
                   std::size_t n, Activations& out) {
  const float* parameters = network.parameters().data();
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const std::size_t in = std::size_t(layers[l].in), width = std::size_t(layers[l].out);
    kernels_.gemm(n, width, in, x, x_row, 1, parameters + layers[l].weights, width, parameters + layers[l].bias,
                  out[l].data(), width);
    if (l + 1 < layers.size()) kernels_.tanh(out[l].data(), n * width);
    x = out[l].data();
    x_row = width;
  }
}

void BatchNet::forward(const Network& network, const float* x, std::size_t n, Part part) {
  SMARTMIG_CHECK(n <= critic_.back().size(), "a batch of {} in room for {}", n, critic_.back().size());
  if (part & kActor) run(network, network.actor(), x, all_inputs_, n, actor_);
  if (part & kCritic) run(network, network.critic(), x, all_inputs_, n, critic_);
}

void BatchNet::transpose(const Network& network, std::vector<float>& out) {
  out.resize(network.parameters().size());
  for (const auto layers : {network.actor(), network.critic()})
    for (const Network::Layer& layer : layers) {
      const float* from = network.parameters().data() + layer.weights;
      float* to = out.data() + layer.weights;
      for (int i = 0; i < layer.in; ++i)
        for (int j = 0; j < layer.out; ++j) to[j * layer.in + i] = from[i * layer.out + j];
    }
}

void BatchNet::back(std::span<const Network::Layer> layers, const std::vector<float>& transposed, const float* x,
                    std::size_t x_row, std::size_t n, const Activations& y, const float* d_out, float* gradient) {
  float *d = d_a_.data(), *other = d_b_.data();
  for (std::size_t l = layers.size(); l-- > 0;) {
    const std::size_t in = std::size_t(layers[l].in), width = std::size_t(layers[l].out);
    const float* input = l == 0 ? x : y[l - 1].data();
    const std::size_t input_row = l == 0 ? x_row : in;
    kernels_.gemm(in, width, n, input, 1, input_row, d_out, width, nullptr, gradient + layers[l].weights, width);
    float* bias = gradient + layers[l].bias;
    std::fill_n(bias, width, 0.0f);
    for (std::size_t i = 0; i < n; ++i) kernels_.add(d_out + i * width, bias, width);
    if (l == 0) return;
    kernels_.gemm(n, in, width, d_out, width, 1, transposed.data() + layers[l].weights, in, nullptr, d, in);
    kernels_.tanh_gradient(y[l - 1].data(), d, n * in);
    d_out = d;
    std::swap(d, other);
  }
}

void BatchNet::backward(const Network& network, const std::vector<float>& transposed, const float* x, std::size_t n,
                        float* gradient) {
  back(network.actor(), transposed, x, all_inputs_, n, actor_, d_actor_.data(), gradient);
  back(network.critic(), transposed, x, all_inputs_, n, critic_, d_critic_.data(), gradient);
}

}  // namespace smartmig
