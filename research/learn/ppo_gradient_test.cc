// The learner's gradient against central differences of a plain loss in double, on random networks, calls and options;
// and GAE against its definition as a sum.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>

#include "base/rng.h"
#include "research/learn/learner.h"
#include "research/learn/loss.h"
#include "support/cases.h"

namespace smartmig {
namespace {

struct Call {
  std::vector<std::uint8_t> columns;
  std::vector<std::uint16_t> counts;
  std::vector<float> log_probability, x;
  float advantage, target, old_value;
};

struct Case {
  explicit Case(std::uint64_t seed) : rng(seed) {
    size.inputs = 2 + int(rng.below(6));
    size.foresight = int(rng.below(3));
    size.layouts = 2 + int(rng.below(4));
    size.hidden.clear();
    for (std::uint64_t l = rng.below(3); l > 0; --l) size.hidden.push_back(2 + int(rng.below(7)));
    k = 1 + rng.below(std::uint64_t(size.layouts));
    options = {0.2, rng.uniform() < 0.5 ? 0 : 0.3, rng.uniform(0, 0.1), 0.5};
    const std::size_t layouts = std::size_t(size.layouts);
    for (int c = 0; c < 5; ++c) {
      Call call;
      for (int i = 0; i < size.inputs + size.foresight; ++i) call.x.push_back(float(rng.normal()));
      for (std::size_t row = 0; row < layouts; ++row) {
        std::vector<std::uint8_t> all;
        for (std::size_t j = 0; j < layouts; ++j) all.push_back(std::uint8_t(j));
        for (std::size_t j = layouts; j > 1; --j) std::swap(all[j - 1], all[rng.below(j)]);
        std::sort(all.begin(), all.begin() + std::ptrdiff_t(k));
        for (std::size_t j = 0; j < k; ++j) {
          call.columns.push_back(all[j]);
          call.counts.push_back(row == 0 ? 0 : std::uint16_t(rng.below(4)));
          call.log_probability.push_back(float(-rng.uniform(0.2, 2)));
        }
      }
      call.counts[k] += 1;  // at least one GPU
      call.advantage = float(rng.normal());
      call.target = float(rng.normal());
      call.old_value = float(rng.normal());
      calls.push_back(call);
    }
  }
  // Plain loss of all calls, in double, from the definition.
  double loss(const Network& network, const std::vector<double>& p) const {
    double total = 0;
    const std::size_t layouts = std::size_t(size.layouts);
    for (const Call& call : calls) {
      const auto run = [&](std::span<const Network::Layer> layers) {
        std::vector<double> in(call.x.begin(), call.x.begin() + layers[0].in);
        for (std::size_t l = 0; l < layers.size(); ++l) {
          std::vector<double> out;
          for (int j = 0; j < layers[l].out; ++j) {
            double sum = p[layers[l].bias + std::size_t(j)];
            for (int i = 0; i < layers[l].in; ++i)
              sum += in[std::size_t(i)] * p[layers[l].weights + std::size_t(i * layers[l].out + j)];
            out.push_back(l + 1 < layers.size() ? std::tanh(sum) : sum);
          }
          in = out;
        }
        return in;
      };
      const auto logits = run(network.actor());
      const double value = run(network.critic())[0];
      double gpus = 0, policy = 0, entropy = 0;
      for (const auto count : call.counts) gpus += count;
      for (std::size_t row = 0; row < layouts; ++row) {
        double sum = 0, in_row = 0, row_entropy = 0;
        for (std::size_t j = 0; j < k; ++j) sum += std::exp(logits[row * layouts + call.columns[row * k + j]]);
        for (std::size_t j = 0; j < k; ++j) {
          const double h = std::exp(logits[row * layouts + call.columns[row * k + j]]) / sum;
          const double n = call.counts[row * k + j];
          const double ratio = h / std::exp(double(call.log_probability[row * k + j]));
          const double a = double(call.advantage);
          policy -= n * std::min(ratio * a, std::min(std::max(ratio, 1 - options.clip), 1 + options.clip) * a);
          in_row += n;
          row_entropy -= h * std::log(h);
        }
        entropy += in_row * row_entropy;
      }
      const double plain = value - double(call.target);
      double square = plain * plain;
      if (options.clip_value > 0) {
        const double held = double(call.old_value) - double(call.target) +
                            std::min(std::max(value - double(call.old_value), -options.clip_value), options.clip_value);
        square = std::max(square, held * held);
      }
      total += (policy - options.entropy * entropy) / gpus + options.value * 0.5 * square;
    }
    return total / double(calls.size());
  }
  Rng rng;
  NetworkSize size;
  std::uint64_t k = 1;
  LossOptions options;
  std::vector<Call> calls;
};

TEST(PpoGradient, EqualsFiniteDifferencesOfThePlainLoss) {
  for (std::uint64_t seed = 1; seed <= std::uint64_t(cases(20)); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Case c(seed);
    Network network(c.size);
    for (float& p : network.parameters()) p = float(0.5 * c.rng.normal());
    const std::size_t n = c.calls.size(), inputs = c.calls[0].x.size();
    std::vector<float> x, gradient(network.parameters().size()), transposed;
    for (const Call& call : c.calls) x.insert(x.end(), call.x.begin(), call.x.end());
    BatchNet net(c.size, n);
    net.forward(network, x.data(), n, BatchNet::kBoth);
    LossSums sums;
    for (std::size_t i = 0; i < n; ++i) {
      const Call& call = c.calls[i];
      const CallView view{std::size_t(c.size.layouts),
                          c.k,
                          call.columns.data(),
                          call.counts.data(),
                          call.log_probability.data(),
                          call.advantage,
                          call.target,
                          call.old_value};
      ppo_loss(view, c.options, 1.0 / double(n), net.logits(i), net.value(i), net.d_logits(i), net.d_value(i), sums);
    }
    BatchNet::transpose(network, transposed);
    net.backward(network, transposed, x.data(), n, gradient.data());
    ASSERT_EQ(inputs, std::size_t(c.size.inputs + c.size.foresight));

    std::vector<double> p(network.parameters().begin(), network.parameters().end());
    const double here = c.loss(network, p);
    EXPECT_NEAR((sums.policy - c.options.entropy * sums.entropy + c.options.value * sums.value) / double(n), here,
                1e-5);
    int kinks = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double h = 1e-5, kept = p[i];
      p[i] = kept + h;
      const double up = c.loss(network, p);
      p[i] = kept - h;
      const double down = c.loss(network, p);
      p[i] = kept;
      // Where a clip begins within the step the two sides differ: no derivative there.
      if (std::abs((up - here) - (here - down)) > 1e-6 * h + 1e-8) {
        ++kinks;
        continue;
      }
      EXPECT_NEAR(double(gradient[i]), (up - down) / (2 * h), 2e-5) << "parameter " << i;
    }
    EXPECT_LE(kinks, int(p.size() / 4));
  }
}

TEST(PpoGradient, GaeIsTheDiscountedSumOfErrors) {
  for (std::uint64_t seed = 1; seed <= std::uint64_t(cases(20)); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rng rng(seed);
    const std::size_t n = 1 + rng.below(30);
    const double gamma = rng.uniform(0.8, 1), lambda = rng.uniform(0, 1);
    std::vector<float> r(n), v(n), advantage(n);
    std::vector<std::uint8_t> ends(n);
    for (std::size_t t = 0; t < n; ++t) {
      r[t] = float(rng.normal());
      v[t] = float(rng.normal());
      ends[t] = rng.uniform() < 0.15;
    }
    const float last = float(rng.normal());
    gae(r, v, ends, last, gamma, lambda, advantage);
    for (std::size_t t = 0; t < n; ++t) {
      double sum = 0, weight = 1;
      for (std::size_t s = t; s < n; ++s) {
        const double next = ends[s] ? 0 : (s + 1 < n ? double(v[s + 1]) : double(last));
        sum += weight * (double(r[s]) + gamma * next - double(v[s]));
        if (ends[s]) break;
        weight *= gamma * lambda;
      }
      EXPECT_NEAR(double(advantage[t]), sum, 1e-5);
    }
  }
}

}  // namespace
}  // namespace smartmig
