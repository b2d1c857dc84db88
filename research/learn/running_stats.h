// Running mean and variance of a vector, merged batch by batch in a fixed order (Chan's formula). It normalises
// observations, and returns with width 1. The sums of a batch are computed per piece of work and merged by piece.
#pragma once
#include <cmath>
#include <span>
#include <vector>

namespace smartmig {

class RunningStats {
 public:
  explicit RunningStats(std::size_t width = 0) : mean_(width), m2_(width) {}

  void add(std::span<const float> x) {
    count_ += 1;
    for (std::size_t i = 0; i < mean_.size(); ++i) {
      const double d = double(x[i]) - mean_[i];
      mean_[i] += d / count_;
      m2_[i] += d * (double(x[i]) - mean_[i]);
    }
  }
  void merge(const RunningStats& other) {
    if (other.count_ == 0) return;
    const double total = count_ + other.count_;
    for (std::size_t i = 0; i < mean_.size(); ++i) {
      const double d = other.mean_[i] - mean_[i];
      mean_[i] += d * other.count_ / total;
      m2_[i] += other.m2_[i] + d * d * count_ * other.count_ / total;
    }
    count_ = total;
  }
  void clear() { *this = RunningStats(mean_.size()); }

  double count() const { return count_; }
  double mean(std::size_t i) const { return mean_[i]; }
  double variance(std::size_t i) const { return count_ > 0 ? m2_[i] / count_ : 0; }
  // 1 / standard deviation; 0 for a constant input.
  double scale(std::size_t i) const {
    const double v = variance(i);
    return v > 1e-10 ? 1 / std::sqrt(v) : 0;
  }
  std::size_t width() const { return mean_.size(); }

  double& count() { return count_; }
  std::span<double> means() { return mean_; }
  std::span<double> squares() { return m2_; }

 private:
  double count_ = 0;
  std::vector<double> mean_, m2_;
};

}  // namespace smartmig
