// What a job's tensors will hold at the most by its end, from what its framework counts: the most held so far, told without an allocator
// in between, so that growth is what it looks like and a plateau is one. Followed over work done where progress is printed, over the
// share of a pass (an evaluation between two steps), or over time.
//
// The curve is a staircase: it is kept as its rises, the work each came at and the level it led to. Carried on: at even distances and
// heights (a line through the rises, all of them or the later half), at distances that grow as the work does (a line over its logarithm:
// the largest of draws so far, buffers that double), or at heights that grow (over its square). None is believed for how it fits: each
// is made as of earlier rises and asked for the last. Its miss there per distance is u: growth is right within a factor of
// 1 + u / slope, and a way counts by the inverse square of what it missed. Each may also have stopped: with n rises that is about
// 1 / (1 + 1.5 n) before anything is known of the time since the last one, and more the longer that is for the distances so far.
// Pure. Units: MiB, and work or seconds.
#pragma once
#include <cstddef>
#include <vector>

namespace smartmig {

struct HeldForecast {
  double probability = 0;  // that it comes to hold more than there is room for
  double after = 0;        // work until then, if it does
  double needs_mib = 0;    // if it does, what it holds at the end
  void add(double weight, const HeldForecast& other);
  void divide(double weights);
};

struct HeldRoom {
  double mib = 0, edge_mib = 1;  // known within
  double passed_by(double held_mib, double off_mib) const;
};

class HeldProjection {
 public:
  static constexpr std::size_t kMost = 128, kTried = 8;

  struct Rise {
    double work = 0, held = 0;
  };
  void add(double work, double held_mib);  // the most held so far; neither is ever less than before
  bool empty() const { return rises_.empty(); }
  double work() const { return work_; }
  double held_mib() const { return rises_.empty() ? 0 : rises_.back().held; }
  const std::vector<Rise>& rises() const { return rises_; }  // the first: where it began

  // Ways to go on, made once for any number of ends.
  struct Way {
    int axis = 0;
    bool late = false;
    double prior = 1, slope = 0, miss = 0, missed = 0, begin = 0;
    double gap = 1, told = 0;  // between rises along its axis; so many at even distances would tell as much
  };
  std::vector<Way> ways() const;
  HeldForecast forecast(const std::vector<Way>& ways, const HeldRoom& room, double end) const;
  // The same within a pass whose end is told: it goes on as it went.
  HeldForecast within_pass(const HeldRoom& room, double end) const;

 private:
  std::vector<Rise> rises_;
  double work_ = 0;
};

}  // namespace smartmig
