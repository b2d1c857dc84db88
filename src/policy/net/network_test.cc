#include "policy/net/network.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/rng.h"
#include "policy/net/float_math.h"

namespace smartmig {
namespace {

TEST(FloatMath, ExpAndTanhAreCloseToTheLibrary) {
  for (int i = -40'000; i <= 40'000; ++i) {
    const float x = float(i) * 2e-3f;
    EXPECT_NEAR(double(exp_float(x)) / std::exp(double(x)), 1, 4e-7) << x;
    EXPECT_NEAR(double(tanh_float(x)), std::tanh(double(x)), 4e-7) << x;
  }
  EXPECT_GT(exp_float(-1e30f), 0);
  EXPECT_TRUE(std::isfinite(exp_float(1e30f)));
  EXPECT_TRUE(std::isnan(tanh_float(std::numeric_limits<float>::quiet_NaN())));
}

TEST(Network, ForwardEqualsAPlainSum) {
  Network network({3, 1, 2, {4}});
  Rng rng(7);
  for (float& p : network.parameters()) p = float(rng.normal());
  const std::vector<float> x = {0.5f, -1, 2, 0.25f};
  Network::Scratch scratch;
  std::vector<float> logits(4);
  network.logits(std::span(x).first(3), scratch, logits);
  const auto plain = [&](std::span<const Network::Layer> layers, std::vector<double> in) {
    for (std::size_t l = 0; l < layers.size(); ++l) {
      std::vector<double> out;
      for (int j = 0; j < layers[l].out; ++j) {
        double sum = double(network.parameters()[layers[l].bias + std::size_t(j)]);
        for (int i = 0; i < layers[l].in; ++i)
          sum +=
              in[std::size_t(i)] * double(network.parameters()[layers[l].weights + std::size_t(i * layers[l].out + j)]);
        out.push_back(l + 1 < layers.size() ? std::tanh(sum) : sum);
      }
      in = out;
    }
    return in;
  };
  const auto want = plain(network.actor(), {0.5, -1, 2});
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(double(logits[i]), want[i], 1e-5);
  EXPECT_NEAR(double(network.value(x, scratch)), plain(network.critic(), {0.5, -1, 2, 0.25})[0], 1e-5);
}

TEST(Network, NormaliserClipsAndDropsWhatNeverVaried) {
  Network network({3, 0, 1, {}});
  network.mean()[0] = 1;
  network.scale()[0] = 100;
  network.mean()[1] = 2;
  network.scale()[1] = 0.5f;
  network.scale()[2] = 0;
  std::vector<float> out(3);
  network.normalise(std::vector<float>{5, 4, 99}, out);
  EXPECT_EQ(out, (std::vector<float>{10, 1, 0}));
}

TEST(Network, TopKKeepsTheLargestAndRenormalises) {
  const std::vector<float> row = {0, 3, 1, 3, -2};
  std::uint8_t columns[3];
  float p[3];
  top_k(row, 3, columns, p);
  EXPECT_EQ(columns[0], 1);
  EXPECT_EQ(columns[1], 2);
  EXPECT_EQ(columns[2], 3);
  const double sum = 2 + std::exp(-2.0);
  EXPECT_NEAR(double(p[0]), 1 / sum, 1e-6);
  EXPECT_NEAR(double(p[1]), std::exp(-2.0) / sum, 1e-6);
  top_k(std::vector<float>{1, 1, 1}, 2, columns, p);  // ties: lower index
  EXPECT_EQ(columns[0], 0);
  EXPECT_EQ(columns[1], 1);
}

}  // namespace
}  // namespace smartmig
