// Prices of single jobs. A price per class alone lets a job fill several slices of one configuration by turns and so be
// its own company: alone on a GPU it would pay for one slice in seven what seven busy slices draw. A job's own price is
// paid by that job, on any class, beside the price of the class; a GPU earns it once at most, for the job runs on one
// slice. So a GPU with s busy slices earns at most the s largest own prices of the window beside the prices of its
// classes. Only in windows from the job's release on, and as many as are worth it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace smartmig {

struct OwnPrices {
  struct Span {
    std::uint32_t job = 0;
    std::uint32_t first_window = 0, count = 0;
    std::size_t at = 0;  // into `values`
  };
  std::vector<Span> spans;     // by job, each at most once
  std::vector<double> values;  // cost per minute, >= 0

  bool empty() const { return spans.empty(); }
};

// What a minute of a job's end costs: its part of the idle boards, which are on until the last job ends. Together no more
// than a minute of all idle boards.
struct EndPrice {
  std::uint32_t job = 0;
  double price = 0;
};

// What one job pays beside the prices of classes: `values[i]` in window `first_window + i`, nothing in others, and
// `end_price` for each minute from time 0 to its end.
struct OwnRow {
  std::size_t first_window = 0, count = 0;
  const double* values = nullptr;
  double end_price = 0;
  double at(std::size_t window) const {
    return window >= first_window && window - first_window < count ? values[window - first_window] : 0;
  }
};

}  // namespace smartmig
