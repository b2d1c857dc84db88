// Prices of single jobs. With a price per class alone, a job can fill several slices of one configuration in turn and
// so be its own company: alone on a GPU, it would pay one seventh of the power of seven busy slices. A job pays its own
// price on any class, in addition to the class's price. A GPU earns that price at most once, since the job runs on one
// slice. So a GPU with s busy slices earns at most the s largest own prices of the window in addition to the prices of
// its classes. Own prices exist only in windows from the job's release on, and only as many as are worth it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace smartmig {

struct OwnPrices {
  struct Span {
    std::uint32_t job = 0;
    std::uint32_t first_window = 0, count = 0;
    std::size_t at = 0;  // index into `values`
  };
  std::vector<Span> spans;     // by job, each at most once
  std::vector<double> values;  // cost per minute, >= 0

  bool empty() const { return spans.empty(); }
};

// The price of each minute until a job's end: its part of the idle boards, which are on until the last job ends. All
// end prices together are at most a minute of all idle boards.
struct EndPrice {
  std::uint32_t job = 0;
  double price = 0;
};

// What one job pays in addition to the prices of classes: `values[i]` in window `first_window + i`, nothing in others,
// and `end_price` for each minute from time 0 to its end.
struct OwnRow {
  std::size_t first_window = 0, count = 0;
  const double* values = nullptr;
  double end_price = 0;
  double at(std::size_t window) const {
    return window >= first_window && window - first_window < count ? values[window - first_window] : 0;
  }
};

}  // namespace smartmig
