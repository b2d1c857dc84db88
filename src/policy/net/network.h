// The controller's network: two multilayer perceptrons of tanh layers over one observation. The actor returns L x L
// logits (row: a GPU's present layout, column: its next one), the critic one number. The network includes the
// observation's normaliser: x := clamp((x - mean) * scale, -10, 10). scale is 1 / standard deviation, and 0 for an
// input that never varied in training, so that such an input cannot mislead it later.
//
// All parameters lie in one flat array, each layer as weights[in][out] then bias[out]. Every sum starts with the bias
// and runs in the order of the inputs, so single samples (here) and batches (learn/kernels.h) give the same bits. The
// critic may have further inputs (`foresight`): what the trainer knows and a deployed controller does not. Only Scratch
// is not thread-safe: give each thread its own.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace smartmig {

struct NetworkSize {
  int inputs = 0;
  int foresight = 0;  // additional inputs of the critic
  int layouts = 0;
  std::vector<int> hidden = {64, 64};
  bool operator==(const NetworkSize&) const = default;
};

class Network {
 public:
  struct Layer {
    std::size_t weights, bias;  // offsets into parameters()
    int in, out;
  };
  struct Scratch {
    std::vector<float> a, b;
  };
  static constexpr float kClip = 10;

  Network() = default;
  explicit Network(NetworkSize size);  // all parameters are zero

  const NetworkSize& size() const { return size_; }
  int rows() const { return size_.layouts; }
  std::span<const Layer> actor() const { return actor_; }
  std::span<const Layer> critic() const { return critic_; }
  std::span<float> parameters() { return parameters_; }
  std::span<const float> parameters() const { return parameters_; }
  std::span<float> mean() { return mean_; }  // for the inputs, then the foresight
  std::span<float> scale() { return scale_; }
  std::span<const float> mean() const { return mean_; }
  std::span<const float> scale() const { return scale_; }

  void normalise(std::span<const float> raw, std::span<float> out) const;  // raw: inputs, or inputs and foresight
  // For a normalised observation. `out` has layouts^2 entries.
  void logits(std::span<const float> normalised, Scratch& scratch, std::span<float> out) const;
  float value(std::span<const float> normalised_with_foresight, Scratch& scratch) const;

 private:
  NetworkSize size_;
  std::vector<Layer> actor_, critic_;
  std::vector<float> parameters_, mean_, scale_;
};

// The columns of the k largest logits of a row (ties: lower index), ascending, and their renormalised probabilities.
// REQUIRES: k <= row.size(); `columns` and `probability` have k entries.
void top_k(std::span<const float> row, int k, std::uint8_t* columns, float* probability);

}  // namespace smartmig
