#include "policy/net/network.h"

#include <algorithm>

#include "base/check.h"
#include "policy/net/float_math.h"

namespace smartmig {
namespace {

std::vector<Network::Layer> stack(int in, const std::vector<int>& hidden, int out, std::size_t& used) {
  std::vector<Network::Layer> layers;
  const auto add = [&](int width) {
    layers.push_back({used, used + std::size_t(in) * std::size_t(width), in, width});
    used = layers.back().bias + std::size_t(width);
    in = width;
  };
  for (const int width : hidden) add(width);
  add(out);
  return layers;
}

void run(std::span<const Network::Layer> layers, const float* __restrict parameters, std::span<const float> input,
         Network::Scratch& scratch, std::span<float> out) {
  const float* x = input.data();
  std::vector<float>*to = &scratch.a, *other = &scratch.b;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const Network::Layer& layer = layers[l];
    const bool last = l + 1 == layers.size();
    const std::size_t width = std::size_t(layer.out);
    if (!last) to->resize(width);
    float* __restrict y = last ? out.data() : to->data();
    std::copy_n(parameters + layer.bias, width, y);
    for (int i = 0; i < layer.in; ++i) {
      const float xi = x[i];
      const float* w = parameters + layer.weights + std::size_t(i) * width;
      for (std::size_t j = 0; j < width; ++j) y[j] += xi * w[j];
    }
    if (last) return;
    for (std::size_t j = 0; j < width; ++j) y[j] = tanh_float(y[j]);
    x = y;
    std::swap(to, other);
  }
}

}  // namespace

Network::Network(NetworkSize size) : size_(std::move(size)) {
  std::size_t used = 0;
  actor_ = stack(size_.inputs, size_.hidden, size_.layouts * size_.layouts, used);
  critic_ = stack(size_.inputs + size_.foresight, size_.hidden, 1, used);
  parameters_.assign(used, 0.0f);
  mean_.assign(std::size_t(size_.inputs + size_.foresight), 0.0f);
  scale_.assign(mean_.size(), 1.0f);
}

void Network::normalise(std::span<const float> raw, std::span<float> out) const {
  SMARTMIG_CHECK(raw.size() <= mean_.size() && out.size() >= raw.size(), "{} inputs for a network of {}", raw.size(),
                 mean_.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const float z = (raw[i] - mean_[i]) * scale_[i];
    out[i] = z < -kClip ? -kClip : (z > kClip ? kClip : z);
  }
}

void Network::logits(std::span<const float> normalised, Scratch& scratch, std::span<float> out) const {
  SMARTMIG_CHECK(int(normalised.size()) >= size_.inputs && int(out.size()) == size_.layouts * size_.layouts,
                 "{} inputs and {} outputs for a network of {} and {}^2", normalised.size(), out.size(), size_.inputs,
                 size_.layouts);
  run(actor_, parameters_.data(), normalised, scratch, out);
}

float Network::value(std::span<const float> normalised, Scratch& scratch) const {
  SMARTMIG_CHECK(normalised.size() == mean_.size(), "{} inputs for a critic of {}", normalised.size(), mean_.size());
  float out = 0;
  run(critic_, parameters_.data(), normalised, scratch, {&out, 1});
  return out;
}

void top_k(std::span<const float> row, int k, std::uint8_t* columns, float* probability) {
  int kept = 0;  // columns by descending logit, as they are collected
  for (std::size_t j = 0; j < row.size(); ++j) {
    int at = kept < k ? kept++ : (row[j] > row[columns[k - 1]] ? k - 1 : -1);
    if (at < 0) continue;
    for (; at > 0 && row[j] > row[columns[at - 1]]; --at) columns[at] = columns[at - 1];
    columns[at] = std::uint8_t(j);
  }
  const float largest = row[columns[0]];
  std::sort(columns, columns + k);
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += probability[i] = exp_float(row[columns[i]] - largest);
  for (int i = 0; i < k; ++i) probability[i] /= sum;
}

}  // namespace smartmig
