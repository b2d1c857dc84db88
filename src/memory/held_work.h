// Forecasts whether a job comes to hold more than there is room for. It uses the counter of the framework
// (held_projection.h), the job's printed progress, and earlier runs of the same command. It views the run so far in
// three ways: by work done, by the share of a pass between two steps, and by time where nothing is printed.
//
// An earlier run is the staircase of what it held over the share of it that was done. Another run of the command has
// other input. It holds either the same at the same share of the whole (stages), or the same for the same count
// (tokens, requests). Both models are asked, each weighted by how well it agrees with what is held now. Without
// progress, the whole is as long as the earlier run times e^(0.25 z). This run's own curve also counts, the more the
// less the models agree. Pure. Units: seconds, MiB.
#pragma once
#include <optional>
#include <vector>

#include "memory/held_projection.h"

namespace smartmig {

struct HeldRun {                                 // an earlier run of the command
  std::vector<HeldProjection::Rise> rises;       // work: share of the run; empty: not asked
  double end_done = -1, of = 0, duration_s = 0;  // -1: not printed; 0: not announced
  static constexpr std::size_t kMost = 24;       // rises
  double held_at(double share) const;            // past the end it continues as in its later half
  double whole() const { return of > 0 ? of : end_done; }
  double peak_mib() const { return rises.empty() ? 0 : rises.back().held; }
};

struct RunWhole {
  double times = 1, weight = 1;  // times: the whole run / what is done
};

class HeldWork {
 public:
  struct Sample {
    double at_s = 0, held_mib = 0;
    double done = -1, of = 0, part_done = -1, part_of = 0;
  };
  static constexpr int kFewest = 10, kFewestSteps = 5;

  void remember(const HeldRun& run);  // call before the first sample
  void add(const Sample& sample);
  bool known() const { return !by_time_.empty(); }
  // nullopt: too early to tell.
  std::optional<HeldForecast> forecast(const HeldRoom& room,
                                       const std::vector<RunWhole>& wholes) const;  // after: seconds
  HeldRun to_past() const;

 private:
  std::optional<HeldForecast> by_itself(const HeldRoom& room, const std::vector<RunWhole>& wholes) const;
  HeldForecast by_past(const HeldRun& run, const HeldRoom& room, double& agrees) const;

  HeldProjection by_work_, by_time_, by_part_;
  std::vector<HeldRun> past_;
  Sample last_;
  double counts_ = 0.5;  // probability that the same count, rather than the same share, holds the same
  int samples_ = 0, steps_ = 0;
};

}  // namespace smartmig
