#include "research/learn/kernels.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/rng.h"
#include "research/learn/batch_net.h"

namespace smartmig {
namespace {

std::vector<float> random_floats(std::size_t n, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> x(n);
  for (float& v : x) v = float(rng.normal());
  return x;
}

bool runs_v3() { return kernels().name == kernels_v3().name; }

TEST(Kernels, BothBuildsGiveTheSameBits) {
  if (!runs_v3()) GTEST_SKIP() << "this processor has no AVX2";
  for (const auto& [m, n, k] : {std::array<std::size_t, 3>{7, 37, 53}, {4, 16, 64}, {1, 1, 5}, {33, 144, 64}}) {
    const auto a = random_floats(m * k, 1), b = random_floats(k * n, 2), bias = random_floats(n, 3);
    std::vector<float> c(m * n), d(m * n), e(m * n);
    kernels_v2().gemm(m, n, k, a.data(), k, 1, b.data(), n, bias.data(), c.data(), n);
    kernels_v3().gemm(m, n, k, a.data(), k, 1, b.data(), n, bias.data(), d.data(), n);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        float sum = bias[j];
        for (std::size_t l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
        e[i * n + j] = sum;
      }
    EXPECT_EQ(c, d);
    EXPECT_EQ(c, e);  // and as the plain sum in order
    kernels_v2().tanh(c.data(), c.size());
    kernels_v3().tanh(d.data(), d.size());
    EXPECT_EQ(c, d);
  }
  AdamStep step{1e-3f, 0.9f, 0.999f, 1e-5f, 0.1f, 0.001f, 0.7f};
  const auto g = random_floats(101, 4);
  std::vector<float> m1(101), v1(101), p1 = random_floats(101, 5), m2 = m1, v2 = v1, p2 = p1;
  kernels_v2().adam(step, g.data(), m1.data(), v1.data(), p1.data(), 101);
  kernels_v3().adam(step, g.data(), m2.data(), v2.data(), p2.data(), 101);
  EXPECT_EQ(p1, p2);
  EXPECT_EQ(v1, v2);
}

TEST(BatchNet, ABatchGivesTheBitsOfOneAtATime) {
  const NetworkSize size{13, 3, 5, {16, 9}};
  Network network(size);
  const auto parameters = random_floats(network.parameters().size(), 6);
  std::copy(parameters.begin(), parameters.end(), network.parameters().begin());
  const std::size_t n = 11;
  const auto x = random_floats(n * 16, 7);
  BatchNet batch(size, n);
  batch.forward(network, x.data(), n, BatchNet::kBoth);
  Network::Scratch scratch;
  std::vector<float> logits(25);
  for (std::size_t i = 0; i < n; ++i) {
    network.logits(std::span(x).subspan(i * 16, 13), scratch, logits);
    const auto got = batch.logits(i);
    EXPECT_EQ(std::memcmp(got.data(), logits.data(), 100), 0) << i;
    EXPECT_EQ(batch.value(i), network.value(std::span(x).subspan(i * 16, 16), scratch));
  }
}

}  // namespace
}  // namespace smartmig
