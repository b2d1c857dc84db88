// The memory that a job's tensors need as a function of the size of its work (tokens, length, batch), a + b s or
// a + b s^2, seen through an allocator. The device shows a staircase:
//   rises     when it rises at size s, the held memory has just outgrown the previous step: held(s) lies between the
//             levels before and after, and above the former by at most its growth since the last sample. This holds
//             for blocks of 2 and 20 MiB, pools and doublings alike.
//   garbage   a caching allocator that makes longer copies keeps the shorter ones. Each rise is as high as all that is
//             copied, in proportion to s, until the device is full and the cache is returned. Then the rises, and the
//             level after a fall, give b.
// If a job prints what it holds, that figure is used instead. Pure.
#pragma once
#include <cstdint>
#include <vector>

namespace smartmig {

// How a program takes device memory, judged by its loaded libraries.
enum class AllocatorFamily : std::uint8_t {
  kUnknown,
  kPlain,     // the device shows what it holds, in small steps
  kCaching,   // PyTorch: garbage
  kDoubling,  // TensorFlow, JAX without preallocation
  kReserved   // takes all at the start
};

class SizeMemory {
 public:
  static constexpr std::size_t kMost = 96;

  void set_allocator(AllocatorFamily family) { family_ = family; }

  // Takes samples by time. `exact`: shown_mib is what is held, not what the device shows. `counts`: the size counts
  // finished work, so memory grows no faster than it.
  void add(double size, double shown_mib, bool exact, bool counts);

  struct Curve {
    double a = 0, b = 0, power = 1;
    double weight = 1;        // its probability
    double miss = 0;          // root mean square of its errors, MiB
    int points = 0;           // number of points it was fitted to
    double from = 0, to = 0;  // range of sizes of these points
    bool overdue = false;     // the curve predicts a rise by now that did not happen
    double at(double size) const { return a + b * (power == 1 ? size : size * size); }
    double size_at(double mib) const;  // smallest size that needs more; infinite if none does
  };
  // One curve; or both, with weights, if it is unknown whether the rises are garbage. `points` 0: no rise yet, a is the
  // level shown.
  std::vector<Curve> curves() const;
  double highest() const { return highest_; }
  // A lower bound on the peak of the held memory. 0: garbage, so nothing is known.
  double surely_held() const;
  double last_rise() const { return rises_.empty() ? first_size_ : rises_.back().size; }  // its size

 private:
  struct Rise {
    double size = 0, since = 0;  // the largest size by then, and by the previous sample
    double before = 0, after = 0;
  };
  double garbage() const;  // the probability of garbage
  Curve by_rises() const;
  std::vector<Curve> by_doublings() const;
  Curve by_garbage() const;

  AllocatorFamily family_ = AllocatorFamily::kUnknown;
  std::vector<Rise> rises_;
  std::vector<Rise> falls_;  // before and after are the levels shown
  double first_size_ = -1, first_ = 0, size_ = -1, shown_ = 0, highest_ = 0;
  bool exact_ = false, counts_ = false;
};

}  // namespace smartmig
