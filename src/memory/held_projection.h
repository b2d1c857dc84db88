// Projects the most that a job's tensors will hold by its end, from the counter of its framework. The input is the most
// held so far. No allocator distorts it, so growth and plateaus are real. The curve is followed over work done where
// the job prints progress, over the share of a pass (an evaluation between two steps), or over time.
//
// The curve is a staircase. Each rise is kept with its work and the level that it led to. There are three ways to
// extend it: rises at even distances and heights (a line through all of them or the later half), at distances that grow
// as the work does (a line over its logarithm: the largest of draws so far, buffers that double), or at heights that
// grow (a line over its square). Goodness of fit earns no trust. Each way is fitted to the earlier rises and predicts
// the last. Its miss per distance is u: growth is right within a factor of 1 + u / slope, and a way's weight is the
// inverse square of its miss. Each way may also have stopped: with n rises that has probability about 1 / (1 + 1.5 n)
// before the time since the last rise is considered, and more the longer that time is, relative to the distances so
// far. Pure. Units: MiB, and work or seconds.
#pragma once
#include <cstddef>
#include <vector>

namespace smartmig {

struct HeldForecast {
  double probability = 0;  // that the job comes to hold more than there is room for
  double after = 0;        // work until then, if it happens
  double needs_mib = 0;    // what the job holds at its end, if it happens
  void add(double weight, const HeldForecast& other);
  void divide(double weights);
};

struct HeldRoom {
  double mib = 0, edge_mib = 1;  // the available memory, and how precisely it is known
  double passed_by(double held_mib, double off_mib) const;
};

class HeldProjection {
 public:
  static constexpr std::size_t kMost = 128, kTried = 8;

  struct Rise {
    double work = 0, held = 0;
  };
  void add(double work, double held_mib);  // the most held so far; neither argument ever falls
  bool empty() const { return rises_.empty(); }
  double work() const { return work_; }
  double held_mib() const { return rises_.empty() ? 0 : rises_.back().held; }
  const std::vector<Rise>& rises() const { return rises_; }  // the first is the start

  // A way to continue the curve. One set serves any number of ends.
  struct Way {
    int axis = 0;
    bool late = false;
    double prior = 1, slope = 0, miss = 0, missed = 0, begin = 0;
    double gap = 1, told = 0;  // gap: between rises along its axis; told: worth as many even distances
  };
  std::vector<Way> ways() const;
  HeldForecast forecast(const std::vector<Way>& ways, const HeldRoom& room, double end) const;
  // The same within a pass whose end is announced: it continues as it has gone so far.
  HeldForecast within_pass(const HeldRoom& room, double end) const;

 private:
  std::vector<Rise> rises_;
  double work_ = 0;
};

}  // namespace smartmig
