// The memory a job will need by what it says of its work, and whether to restart it on a larger slice now. Device memory alone
// (memory_projection.h) hides an LLM job's growth behind its allocator, and tells nothing of its end. What is known besides, each of
// it only where there is any:
//   size        tokens, length or batch of the work at hand, as printed: memory follows it (size_memory.h)
//   size_max    the most it will be, by its command or its words
//   done of     progress: how much of the run is left
//   held        memory that it says its tensors hold
//   held_peak   the most they held, asked of its framework: then growth is seen as it is, and held_work.h projects it; sizes are still
//               followed where they explain it
//   earlier     runs of the same command: where their sizes ended, what they held
// Where sizes go from here: to size_max or `of` where they only grow; in stages, by the steps so far, as many as progress leaves
// room for; drawn anew each time, to the largest of those that are left, by the mean and deviation of their logarithms and never
// above size_max. Without a size: memory over time to an end that progress tells.
//
// Verdict. As in memory_projection.h: restart where R + l is less than P(fail) (R + f + min(x, patience)), x the seconds until it would
// fail; P at least kSure, found so kAgain times in a row. Pure; one object per attempt. Units: seconds, MiB; sizes as the job has them.
#pragma once
#include <optional>
#include <vector>

#include "model/held_work.h"
#include "model/memory_projection.h"
#include "model/size_memory.h"
#include "model/work_words.h"

namespace smartmig {

struct WorkSample {
  double at_s = 0, device_mib = 0;
  double held_mib = -1;            // below 0: not said, as with size and done
  double held_peak_mib = -1;       // the most its tensors held so far, as its framework counts it; below 0: not known
  double size = -1, size_max = 0;  // 0: not said
  double done = -1, of = 0;        // 0: not said
  double part_done = -1, part_of = 0;  // of a pass between two steps

  void take(const WorkWords& words) {
    held_mib = words.held_mib;
    size = words.size, size_max = words.size_max;
    done = words.done, of = words.of;
    part_done = words.part_done, part_of = words.part_of;
  }
};

struct PastWork {                       // an earlier run of the same command that ended well
  SizeMemory::Curve by_size;            // points 0: its sizes say nothing
  double end_size = -1, end_done = -1;  // below 0: not printed
  double duration_s = 0;
  double of = 0;                      // as it, or its command, announced; 0: not
  double last_rise_s = 0;             // when it last took more memory
  double held_mib = 0, peak_mib = 0;  // at the most it held between these; 0: nothing tells
  bool fixed = false;                 // it took its memory at the start: what it showed is no need
  HeldRun held;                       // as its framework counted
};

class WorkProjection {
 public:
  static constexpr int kAgain = 2, kAgainAsked = 1, kFewest = 10, kCapSeen = 2, kFewestSteps = 6;
  static constexpr double kSure = 0.75, kSureOfDraws = 0.92, kSureOverTime = 0.7, kSureOfSilent = 0.6,
                          kSureOfCache = 0.85, kPatience = 1, kToll = 0.08, kTollAsked = 0.5, kSureAtFirst = 0.985,
                          kWay = 0.3;
  static constexpr std::size_t kMostPast = 4, kMostStages = 64;

  void set_allocator(AllocatorFamily family);
  void remember(const PastWork& run);  // before the first sample
  int samples() const { return samples_; }
  void add(const WorkSample& sample);  // impossible values and samples out of order are ignored

  // `expected_total_s`: run time from start to end; 0: not known. Once per sample.
  RestartVerdict verdict(double limit_mib, double expected_total_s, const RestartCosts& costs);
  // After a failure: what it would have needed at the least, on a slice of `limit_mib`.
  double needs(double limit_mib, double expected_total_s) const;
  PastWork to_past(double limit_mib) const;  // of a run that ended well, on a slice of so much

 private:
  struct End {                                // a size that the work may come to
    double size = 0, spread = 0, weight = 1;  // spread: deviation as a share of what it still grows
  };
  using Whole = RunWhole;
  struct Outlook {
    Passing passing;
    double needs_mib = 0;
    double way = 1;      // share of the way to the limit that was seen
    bool asked = false;  // by what the framework says
  };
  struct Stage {
    double size = 0, share = -1, at_s = 0;  // share: done by then, as printed
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
  SizeMemory memory_, memory_time_;  // by size, and by time
  std::vector<PastWork> past_;
  std::vector<Stage> stages_;  // new largest sizes, until there are too many for stages
  WorkSample last_;
  double first_device_ = -1, first_at_ = -1, first_size_ = -1, most_ = 0, last_size_ = -1, offset_ = -1, level_ = 0;
  double draw_ = 0, log_sum_ = 0, log_squares_ = 0;  // the size being drawn; of those that are whole
  int samples_ = 0, sized_ = 0, falls_ = 0, within_ = 0, dips_ = 0, drawn_ = 0, in_a_row_ = 0, at_most_ = 0, steps_ = 0,
      begun_anew_ = 0;
  bool moved_ = false;  // the device's figure, since the first sample
};

}  // namespace smartmig
