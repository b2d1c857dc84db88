#include "research/learn/learner.h"

#include <algorithm>
#include <cmath>

#include "base/rng.h"

namespace smartmig {
namespace {

// Makes the rows (or columns, whichever are fewer) orthonormal, times gain.
void orthogonal(float* weights, int in, int out, double gain, Rng& rng) {
  const bool by_row = in <= out;
  const std::size_t vectors = std::size_t(std::min(in, out)), length = std::size_t(std::max(in, out));
  std::vector<double> q(vectors * length);
  for (std::size_t i = 0; i < vectors; ++i) {
    double* v = q.data() + i * length;
    for (;;) {
      for (std::size_t c = 0; c < length; ++c) v[c] = rng.normal();
      for (int pass = 0; pass < 2; ++pass)
        for (std::size_t j = 0; j < i; ++j) {
          const double* u = q.data() + j * length;
          double dot = 0;
          for (std::size_t c = 0; c < length; ++c) dot += u[c] * v[c];
          for (std::size_t c = 0; c < length; ++c) v[c] -= dot * u[c];
        }
      double norm = 0;
      for (std::size_t c = 0; c < length; ++c) norm += v[c] * v[c];
      if (norm < 1e-12) continue;
      for (std::size_t c = 0; c < length; ++c) v[c] *= 1 / std::sqrt(norm);
      break;
    }
  }
  for (std::size_t i = 0; i < vectors; ++i)
    for (std::size_t c = 0; c < length; ++c) {
      const std::size_t row = by_row ? i : c, column = by_row ? c : i;
      weights[row * std::size_t(out) + column] = float(gain * q[i * length + c]);
    }
}

}  // namespace

Learner::Learner(const NetworkSize& size, WorkerPool& pool) : network_(size), pool_(pool) {
  reset_adam();
  for (int t = 0; t < pool.threads(); ++t) work_.push_back(std::make_unique<Workspace>(size));
}

void Learner::reset_adam() {
  m_.assign(network_.parameters().size(), 0.0f);
  v_.assign(network_.parameters().size(), 0.0f);
  steps_ = 0;
}

void Learner::initialise(std::uint64_t seed, double stay_bias) {
  std::uint64_t stream = 0;
  float* parameters = network_.parameters().data();
  for (const auto layers : {network_.actor(), network_.critic()})
    for (const Network::Layer& layer : layers) {
      const bool last = &layer == &layers.back();
      const double gain = !last ? std::sqrt(2.0) : (layers.data() == network_.actor().data() ? 0.01 : 1.0);
      Rng rng(seed, ++stream);
      orthogonal(parameters + layer.weights, layer.in, layer.out, gain, rng);
      std::fill_n(parameters + layer.bias, layer.out, 0.0f);
    }
  const std::size_t layouts = std::size_t(network_.rows());
  for (std::size_t i = 0; i < layouts; ++i)
    parameters[network_.actor().back().bias + i * layouts + i] = float(stay_bias);
}

Result<LossSums> Learner::step(std::size_t samples, double rate, double max_norm, const Chunk& chunk) {
  const std::size_t chunks = (samples + kChunk - 1) / kChunk, size = network_.parameters().size();
  while (gradients_.size() < chunks) gradients_.emplace_back(size);
  sums_.assign(chunks, LossSums{});
  BatchNet::transpose(network_, transposed_);
  pool_.run(chunks, [&](std::size_t c, int thread) {
    Workspace& work = *work_[std::size_t(thread)];
    const std::size_t first = c * kChunk, n = std::min(kChunk, samples - first);
    chunk(first, n, work, sums_[c]);
    work.net.backward(network_, transposed_, work.x.data(), n, gradients_[c].data());
  });
  LossSums total;
  for (std::size_t c = 0; c < chunks; ++c) {
    total.add(sums_[c]);
    if (c > 0) kernels().add(gradients_[c].data(), gradients_[0].data(), size);
  }
  double square = 0;
  for (const float g : gradients_[0]) square += double(g) * double(g);
  norm_ = std::sqrt(square);
  if (!std::isfinite(norm_) || !std::isfinite(total.policy + total.value + total.entropy))
    return invalid(
        "training diverged: the gradient or the loss is not a finite number; lower the learning "
        "rate or the clip range and continue from the last checkpoint");
  ++steps_;
  constexpr double kBeta1 = 0.9, kBeta2 = 0.999;
  AdamStep adam{float(rate), float(kBeta1), float(kBeta2), 1e-5f, 0, 0, 1};
  double power1 = 1, power2 = 1;  // beta^t; once they are 0 in float, they no longer change anything
  for (std::uint64_t t = std::min<std::uint64_t>(steps_, 50'000); t > 0; --t) {
    power1 *= kBeta1;
    power2 *= kBeta2;
  }
  adam.correction1 = float(1 - power1);
  adam.correction2 = float(1 - power2);
  if (max_norm > 0 && norm_ > max_norm) adam.scale = float(max_norm / norm_);
  kernels().adam(adam, gradients_[0].data(), m_.data(), v_.data(), network_.parameters().data(), size);
  return total;
}

}  // namespace smartmig
