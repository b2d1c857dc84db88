// Projects the memory that a job will need from what it says of its work, and decides whether to restart it on a larger
// slice now. Device memory alone (memory_projection.h) hides the growth of an LLM job behind its allocator and does not
// tell its end. Additional input, each only if available:
//   size        tokens, length or batch of the present work, as printed: memory follows it (size_memory.h)
//   size_max    the largest size, from its command or its output
//   done of     progress: how much of the run is left
//   held        memory that its tensors hold, as it prints
//   held_peak   the most they held, read from its framework: growth is then visible as it is, and held_work.h projects
//               it; sizes are still followed where they explain it
//   earlier     runs of the same command: their final sizes, what they held
// Future sizes: up to size_max or `of` where they only grow; in stages, judged by the steps so far, as many as progress
// leaves room for; independently drawn, up to the largest of the remaining draws, from the mean and deviation of their
// logarithms and never above size_max. Without a size, memory over time is projected to an end that progress tells.
//
// Verdict. As in memory_projection.h: restart if R + l is less than P(fail) (R + f + min(x, patience)), x the seconds
// until it would fail, P at least kSure, and all this kAgain times in a row. Pure; one object per attempt. Units:
// seconds, MiB; sizes in the job's own unit.
#pragma once
#include <optional>
#include <vector>

#include "memory/held_work.h"
#include "memory/memory_projection.h"
#include "memory/size_memory.h"
#include "memory/work_words.h"

namespace smartmig {

struct WorkSample {
  double at_s = 0, device_mib = 0;
  double held_mib = -1;                // below 0: unknown; the same for size and done
  double held_peak_mib = -1;           // the most its tensors held so far, as its framework counts; below 0: unknown
  double size = -1, size_max = 0;      // 0: unknown
  double done = -1, of = 0;            // 0: unknown
  double part_done = -1, part_of = 0;  // of a pass between two steps

  void take(const WorkWords& words) {
    held_mib = words.held_mib;
    size = words.size, size_max = words.size_max;
    done = words.done, of = words.of;
    part_done = words.part_done, part_of = words.part_of;
  }
};

struct PastWork {                       // an earlier run of the same command that ended well
  SizeMemory::Curve by_size;            // points 0: its sizes tell nothing
  double end_size = -1, end_done = -1;  // below 0: not printed
  double duration_s = 0;
  double of = 0;                      // as it, or its command, announced; 0: not announced
  double last_rise_s = 0;             // when it last took more memory
  double held_mib = 0, peak_mib = 0;  // bounds of the most it held; 0: unknown
  bool fixed = false;                 // took all memory at the start: the level shown is not its need
  HeldRun held;                       // as its framework counted it
};

class WorkProjection {
 public:
  static constexpr int kAgain = 2, kAgainAsked = 1, kFewest = 10, kCapSeen = 2, kFewestSteps = 6;
  static constexpr double kSure = 0.75, kSureOfDraws = 0.92, kSureOverTime = 0.7, kSureOfSilent = 0.6,
                          kSureOfCache = 0.85, kPatience = 1, kToll = 0.08, kTollAsked = 0.5, kSureAtFirst = 0.985,
                          kWay = 0.3;
  static constexpr std::size_t kMostPast = 4, kMostStages = 64;

  void set_allocator(AllocatorFamily family);
  void remember(const PastWork& run);  // call before the first sample
  int samples() const { return samples_; }
  void add(const WorkSample& sample);  // ignores impossible values and samples out of order

  // `expected_total_s`: run time from start to end; 0: unknown. Call once per sample.
  RestartVerdict verdict(double limit_mib, double expected_total_s, const RestartCosts& costs);
  // After a failure: the least memory it would have needed, on a slice of `limit_mib`.
  double needs(double limit_mib, double expected_total_s) const;
  PastWork to_past(double limit_mib) const;  // for a run that ended well on such a slice

 private:
  struct End {                                // a possible final size of the work
    double size = 0, spread = 0, weight = 1;  // spread: deviation as a share of the growth left
  };
  using Whole = RunWhole;
  struct Outlook {
    Passing passing;
    double needs_mib = 0;
    double way = 1;      // share of the way to the limit that has been observed
    bool asked = false;  // from the framework's counter
  };
  struct Stage {
    double size = 0, share = -1, at_s = 0;  // share: work done by then, as printed
  };
  double level(const WorkSample& sample) const;
  bool draws() const;
  bool sizes_tell() const;
  std::vector<Whole> wholes(double expected_total_s) const;
  double total_s(double expected_total_s) const;
  std::vector<End> ends(double expected_total_s) const;
  void stage_ends(const Whole& whole, std::vector<End>& out) const;
  std::vector<SizeMemory::Curve> believed_curves() const;
  std::optional<Outlook> outlook(double limit_mib, double expected_total_s) const;
  std::optional<Outlook> by_size(double limit_mib, double expected_total_s) const;
  std::optional<Outlook> by_held(double limit_mib, double expected_total_s) const;
  std::optional<Outlook> by_peaks(double limit_mib) const;
  std::optional<Outlook> by_draws(double limit_mib, double expected_total_s) const;
  double limit_for(double limit_mib) const;

  AllocatorFamily family_ = AllocatorFamily::kUnknown;
  MemoryProjection over_time_;
  HeldWork held_;
  SizeMemory memory_, memory_time_;  // as functions of size and of time
  std::vector<PastWork> past_;
  std::vector<Stage> stages_;  // new largest sizes, until there are too many for stages
  WorkSample last_;
  double first_device_ = -1, first_at_ = -1, first_size_ = -1, most_ = 0, last_size_ = -1, offset_ = -1, level_ = 0;
  double draw_ = 0, log_sum_ = 0, log_squares_ = 0;  // draw_: the present draw's size; sums: of finished draws
  int samples_ = 0, sized_ = 0, falls_ = 0, within_ = 0, dips_ = 0, drawn_ = 0, in_a_row_ = 0, at_most_ = 0, steps_ = 0,
      begun_anew_ = 0;
  bool moved_ = false;  // whether the device's figure has changed since the first sample
};

}  // namespace smartmig
