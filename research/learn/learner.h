// A network with its optimiser. A gradient step splits its samples into chunks of fixed size, stores each chunk's
// gradient separately and sums the gradients in order of the chunks. So any number of threads gives the same bits. Adam
// (eps 1e-5); the gradient is clipped by its norm. A gradient that is not finite changes nothing and is an error.
#pragma once
#include <functional>
#include <memory>

#include "base/result.h"
#include "research/learn/batch_net.h"
#include "research/learn/loss.h"
#include "research/learn/worker_pool.h"

namespace smartmig {

class Learner {
 public:
  static constexpr std::size_t kChunk = 256;
  struct Workspace {
    explicit Workspace(const NetworkSize& size)
        : net(size, kChunk), x(kChunk * std::size_t(size.inputs + size.foresight)) {}
    BatchNet net;
    std::vector<float> x;  // [kChunk][inputs + foresight]
  };
  // Fills work.x for samples [first, first + n) of the step, runs work.net.forward(), and sets d_logits and d_value.
  using Chunk = std::function<void(std::size_t first, std::size_t n, Workspace& work, LossSums& sums)>;

  Learner(const NetworkSize& size, WorkerPool& pool);

  Network& network() { return network_; }
  const Network& network() const { return network_; }
  // Orthogonal weights (gain sqrt 2, actor's head 0.01, critic's head 1); zero biases, except `stay_bias` on the
  // diagonal of the actor's head.
  void initialise(std::uint64_t seed, double stay_bias);
  Result<LossSums> step(std::size_t samples, double rate, double max_norm, const Chunk& chunk);  // sums over samples
  double last_norm() const { return norm_; }

  std::span<float> adam_m() { return m_; }
  std::span<float> adam_v() { return v_; }
  std::uint64_t& adam_steps() { return steps_; }
  void reset_adam();

 private:
  Network network_;
  WorkerPool& pool_;
  std::vector<float> m_, v_, transposed_;
  std::uint64_t steps_ = 0;
  double norm_ = 0;
  std::vector<std::unique_ptr<Workspace>> work_;  // by thread
  std::vector<std::vector<float>> gradients_;     // by chunk
  std::vector<LossSums> sums_;
};

}  // namespace smartmig
