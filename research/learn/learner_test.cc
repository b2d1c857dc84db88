#include "research/learn/learner.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/math.h"
#include "base/rng.h"
#include "policy/net/meanfield.h"

namespace smartmig {
namespace {

TEST(Learner, InitialWeightsAreOrthogonal) {
  WorkerPool pool(1);
  Learner learner({6, 0, 3, {8}}, pool);
  learner.initialise(5, 2);
  const Network& network = learner.network();
  const auto& first = network.actor()[0];
  for (int a = 0; a < 6; ++a)
    for (int b = 0; b <= a; ++b) {
      double dot = 0;
      for (int j = 0; j < 8; ++j)
        dot += double(network.parameters()[first.weights + std::size_t(a * 8 + j)]) *
               double(network.parameters()[first.weights + std::size_t(b * 8 + j)]);
      EXPECT_NEAR(dot, a == b ? 2 : 0, 1e-5);
    }
  EXPECT_EQ(network.parameters()[network.actor().back().bias + 4], 2.0f);  // the diagonal stays
  EXPECT_EQ(network.parameters()[network.actor().back().bias + 5], 0.0f);
}

LossSums one_step(int threads, std::vector<float>& parameters) {
  WorkerPool pool(threads);
  const NetworkSize size{10, 0, 4, {16, 16}};
  Learner learner(size, pool);
  learner.initialise(1, 0);
  LossSums last;
  for (int i = 0; i < 3; ++i)
    last = learner
               .step(1500, 1e-3, 0.5,
                     [&](std::size_t first, std::size_t n, Learner::Workspace& work, LossSums& sums) {
                       for (std::size_t s = 0; s < n; ++s) {
                         Rng rng(9, first + s);
                         for (std::size_t k = 0; k < 10; ++k) work.x[s * 10 + k] = float(rng.normal());
                       }
                       work.net.forward(learner.network(), work.x.data(), n, BatchNet::kBoth);
                       for (std::size_t s = 0; s < n; ++s) {
                         const std::vector<float> teacher(16, 1.0f / 16);
                         sums.policy += imitation_loss(teacher, 4, 1e-3, work.net.logits(s), work.net.d_logits(s));
                         work.net.d_value(s) = 1e-3f * (work.net.value(s) - 1);
                       }
                     })
               .value();
  parameters.assign(learner.network().parameters().begin(), learner.network().parameters().end());
  return last;
}

TEST(Learner, ThreadsChangeNoBit) {
  std::vector<float> one, two, three;
  const LossSums a = one_step(1, one), b = one_step(2, two), c = one_step(3, three);
  EXPECT_EQ(one, two);
  EXPECT_EQ(one, three);
  EXPECT_EQ(a.policy, b.policy);
  EXPECT_EQ(a.policy, c.policy);
}

TEST(Learner, ANumberThatIsNotFiniteStopsAndChangesNothing) {
  WorkerPool pool(1);
  Learner learner({2, 0, 2, {4}}, pool);
  learner.initialise(1, 0);
  const std::vector<float> before(learner.network().parameters().begin(), learner.network().parameters().end());
  const auto step = learner.step(1, 1e-3, 0.5, [&](std::size_t, std::size_t, Learner::Workspace& work, LossSums&) {
    work.x = {1, 1};
    work.net.forward(learner.network(), work.x.data(), 1, BatchNet::kBoth);
    std::fill(work.net.d_logits(0).begin(), work.net.d_logits(0).end(), NAN);
    work.net.d_value(0) = 0;
  });
  ASSERT_FALSE(step);
  EXPECT_NE(step.error().what.find("diverged"), std::string::npos);
  EXPECT_EQ(std::vector<float>(learner.network().parameters().begin(), learner.network().parameters().end()), before);
}

// A mean-field toy with a known optimum: 8 GPUs, 3 layouts, a signal s in {0, 1, 2}; the reward is minus the distance
// of the number of GPUs in layout s from 6, so the best policy holds six of eight there: 0 per call, when all draws are
// independent a little less.
TEST(Learner, PpoSolvesAMeanFieldToy) {
  WorkerPool pool(1);
  constexpr std::size_t kLayouts = 3, kGpus = 8, kCalls = 512, kBatch = 256;
  Learner learner({6, 0, 3, {32}}, pool);
  learner.initialise(2, 0);
  RowSampler sampler(kLayouts, 3, Sampling::kSample);
  std::vector<GpuId> gpus;
  for (std::size_t g = 0; g < kGpus; ++g) gpus.push_back(GpuId(g));
  std::vector<std::uint8_t> layout_of(kGpus, 0), next(kGpus);
  std::vector<float> logits(9), x(kCalls * 6), reward(kCalls), value(kCalls), advantage(kCalls), log_p(kCalls * 9);
  std::vector<std::uint8_t> columns(kCalls * 9), ends(kCalls, 1);
  std::vector<std::uint16_t> counts(kCalls * 9);
  Network::Scratch scratch;
  double mean = 0;
  for (std::uint64_t update = 0; update < 150; ++update) {
    mean = 0;
    std::fill(counts.begin(), counts.end(), std::uint16_t(0));
    for (std::size_t t = 0; t < kCalls; ++t) {
      const std::size_t signal = mix64(update, t) % 3;
      std::vector<int> n(kLayouts);
      for (const auto layout : layout_of) ++n[layout];
      float* in = x.data() + t * 6;
      for (std::size_t i = 0; i < 3; ++i) {
        in[i] = float(n[i]) / kGpus;
        in[3 + i] = i == signal;
      }
      learner.network().logits({in, 6}, scratch, logits);
      value[t] = learner.network().value({in, 6}, scratch);
      sampler.draw(logits, layout_of, n, gpus, 77, update * kCalls + t, next);
      for (std::size_t g = 0; g < kGpus; ++g) {
        const std::size_t row = layout_of[g];
        const auto kept = sampler.columns(row);
        for (std::size_t j = 0; j < 3; ++j) {
          columns[t * 9 + row * 3 + j] = kept[j];
          if (kept[j] != next[g]) continue;
          ++counts[t * 9 + row * 3 + j];
          log_p[t * 9 + row * 3 + j] = float(deterministic_log(double(sampler.probabilities(row)[j])));
        }
      }
      layout_of = next;
      const auto there = std::count(next.begin(), next.end(), std::uint8_t(signal));
      reward[t] = -float(std::abs(int(there) - 6));
      mean += double(reward[t]) / kCalls;
    }
    gae(reward, value, ends, 0, 0.9, 0.9, advantage);
    for (int epoch = 0; epoch < 4; ++epoch)
      for (std::size_t at = 0; at < kCalls; at += kBatch)
        ASSERT_TRUE(learner.step(kBatch, 3e-3, 0.5,
                                 [&](std::size_t first, std::size_t n, Learner::Workspace& work, LossSums& sums) {
                                   std::copy_n(x.data() + (at + first) * 6, n * 6, work.x.data());
                                   work.net.forward(learner.network(), work.x.data(), n, BatchNet::kBoth);
                                   for (std::size_t i = 0; i < n; ++i) {
                                     const std::size_t t = at + first + i;
                                     const CallView call{3,
                                                         3,
                                                         columns.data() + t * 9,
                                                         counts.data() + t * 9,
                                                         log_p.data() + t * 9,
                                                         advantage[t],
                                                         reward[t],
                                                         value[t]};
                                     ppo_loss(call, {0.2, 0, 0, 0.5}, 1.0 / kBatch, work.net.logits(i),
                                              work.net.value(i), work.net.d_logits(i), work.net.d_value(i), sums);
                                   }
                                 }));
  }
  // Independent draws with one probability cannot do better than about -0.98; a controller that moves only the surplus
  // can, because it sees the counts. Chance alone gives -3.3.
  EXPECT_GT(mean, -1.05);
}

}  // namespace
}  // namespace smartmig
