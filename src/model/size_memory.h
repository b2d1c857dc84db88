// The memory that tensors of a job need as a function of the size of its work (tokens, length, batch), a + b s or a + b s^2, seen
// through an allocator. What the device shows is a staircase:
//   rises     when it rises at size s, what is held has just outgrown the step before: held(s) lies between what was shown
//             before and after, and no further above the former than it grew since the last sample. That holds for blocks of
//             2 and 20 MiB, pools and doublings alike.
//   garbage   a caching allocator that makes longer copies keeps the shorter ones: each rise is as high as all that is copied,
//             in proportion to s, until the device is full and the cache is given back. Then the rises, and what is shown after
//             a fall, tell b.
// A job that says what it holds is believed instead. Pure.
#pragma once
#include <cstdint>
#include <vector>

namespace smartmig {

// How a program takes memory of the device, by the libraries it has loaded.
enum class AllocatorFamily : std::uint8_t {
  kUnknown,
  kPlain,     // what it holds is what is shown, in small steps
  kCaching,   // PyTorch: garbage
  kDoubling,  // TensorFlow, JAX without preallocation
  kReserved   // all at the start
};

class SizeMemory {
 public:
  static constexpr std::size_t kMost = 96;

  void set_allocator(AllocatorFamily family) { family_ = family; }

  // Samples in order of time; `exact`: shown_mib is what is held, not what the device shows; `counts`: the size counts what was
  // done, so that memory grows no faster than it.
  void add(double size, double shown_mib, bool exact, bool counts);

  struct Curve {
    double a = 0, b = 0, power = 1;
    double weight = 1;        // how likely it is
    double miss = 0;          // root mean square of what it was off, MiB
    int points = 0;           // it was made from
    double from = 0, to = 0;  // sizes it was made from
    bool overdue = false;     // it should have risen since by now, and did not
    double at(double size) const { return a + b * (power == 1 ? size : size * size); }
    double size_at(double mib) const;  // smallest size that needs more; infinite where none does
  };
  // One, or where it is not known whether the rises are garbage both, by weight. `points` 0: no rise yet, a is what is shown.
  std::vector<Curve> curves() const;
  double highest() const { return highest_; }
  // What was held at the most: more than this. 0: garbage, nothing tells.
  double surely_held() const;
  double last_rise() const { return rises_.empty() ? first_size_ : rises_.back().size; }  // the size it was at

 private:
  struct Rise {
    double size = 0, since = 0;  // the largest size by then, and by the sample before
    double before = 0, after = 0;
  };
  double garbage() const;  // how likely
  Curve by_rises() const;
  std::vector<Curve> by_doublings() const;
  Curve by_garbage() const;

  AllocatorFamily family_ = AllocatorFamily::kUnknown;
  std::vector<Rise> rises_;
  std::vector<Rise> falls_;  // before and after: what was shown
  double first_size_ = -1, first_ = 0, size_ = -1, shown_ = 0, highest_ = 0;
  bool exact_ = false, counts_ = false;
};

}  // namespace smartmig
