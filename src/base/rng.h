// Counter-based random numbers. The n-th draw is a hash of (seed, stream, n), so replays, forks and restarts agree, and
// a draw can be keyed by (seed, decision, gpu). Distributions use base/math.h: the same seed gives the same bits with
// every compiler.
#pragma once
#include <cstdint>

namespace smartmig {

constexpr std::uint64_t mix64(std::uint64_t x) {  // SplitMix64's finaliser: a bijection with full avalanche
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9u;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}
constexpr std::uint64_t mix64(std::uint64_t a, std::uint64_t b) { return mix64(mix64(a + 0x9E3779B97F4A7C15u) ^ b); }

class Rng {
 public:
  explicit constexpr Rng(std::uint64_t seed, std::uint64_t stream = 0) : key_(mix64(seed, stream)) {}

  std::uint64_t next() { return mix64(key_ + 0x9E3779B97F4A7C15u * ++counter_); }
  double uniform() { return double(next() >> 11) * 0x1p-53; }  // [0, 1)
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  std::uint64_t below(std::uint64_t n);  // unbiased in [0, n); REQUIRES: n > 0
  double exponential(double mean);
  double normal();
  double lognormal(double mu, double sigma);
  std::uint64_t poisson(double mean);

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

}  // namespace smartmig
