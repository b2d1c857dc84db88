#include "base/rng.h"

#include <cmath>

#include "base/math.h"

namespace smartmig {

std::uint64_t Rng::below(std::uint64_t n) {
  const std::uint64_t reject_under = (0 - n) % n;  // rejects 2^64 mod n draws, so that every result is equally likely
  for (;;) {
    const std::uint64_t x = next();
    if (x >= reject_under) return x % n;
  }
}

double Rng::exponential(double mean) { return -mean * deterministic_log(1 - uniform()); }

double
Rng::normal() {  // Marsaglia's polar method; the second value is dropped, so every call is a function of the counter
  for (;;) {
    const double u = 2 * uniform() - 1, v = 2 * uniform() - 1;
    const double s = u * u + v * v;
    if (s > 0 && s < 1) return u * std::sqrt(-2 * deterministic_log(s) / s);
  }
}

double Rng::lognormal(double mu, double sigma) { return deterministic_exp(mu + sigma * normal()); }

std::uint64_t Rng::poisson(double mean) {  // counts exponential gaps: exact, linear in the mean
  std::uint64_t count = 0;
  for (double t = exponential(1); t < mean; t += exponential(1)) ++count;
  return count;
}

}  // namespace smartmig
