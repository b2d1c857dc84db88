// Judges memory projection: jobs whose memory is not known in advance run on a slice that may be too small, under
// several methods of foreseeing the failure. An attempt on a slice ends with the job's end, with the failure (the curve
// passes the slice's memory), or with an early restart. Each restart loses the attempt's work and costs the restart.
// The next attempt is on the smallest larger slice with as much memory as the method says is needed. Paired: every
// method sees the same jobs, samples and gaps. Deterministic in (seed, cases) for any number of threads.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "research/papers/memory_curves.h"

namespace smartmig {

enum class ForesightMethod : std::uint8_t {
  kOurs,        // memory/memory_projection.h
  kLine,        // least squares through all samples of the attempt, read at the expected end
  kRecentLine,  // the same through the last 30 samples
  kWait         // no foresight: restarts after the failure
};
inline constexpr int kForesightMethods = 4;
inline constexpr int kSudden = 10;  // samples before a failure that make it foreseeable
const char* name_of(ForesightMethod method);

struct MemoryCase {
  MemoryCurve curve;
  CurveFamily::Group group = CurveFamily::kTuning;
  std::uint64_t seed = 0;
  std::size_t first_slice = 0;  // index into the ladder
  double expected_s = 0;        // told to the method: right, wrong, or 0 for unknown
  double restart_s = 0;
  double missing = 0;  // share of samples that are lost
};

struct Foresight {                         // sums over cases
  int cases = 0, doomed = 0, fitting = 0;  // attempts on a slice that is too small, or large enough
  int heralded = 0;                        // doomed ones whose failure the curve announces; see heralded()
  int missed = 0;                          // doomed attempts that ran into the failure
  int missed_heralded = 0;                 // among the heralded ones
  int false_restarts = 0;                  // fitting attempts that were restarted
  int asked = 0;                           // fitting attempts for which a larger slice existed
  int over = 0;                            // restarts that went to a larger slice than necessary
  double saved_share = 0;                  // over foreseen failures: share of the doomed attempt that was not run
  double lost_s = 0;                       // work and restart seconds lost
  double oracle_s = 0;                     // the loss with a known peak, where a doomed job restarts at once
  void add(const Foresight& other);
};

struct FamilyForesight {
  std::string family;
  CurveFamily::Group group;
  Foresight by_method[kForesightMethods];
};

struct MemoryStudyOptions {
  int cases_per_family = 60;
  std::uint64_t seed = 200000;
  int threads = 1;
  bool tuning_only = false;  // for choosing constants
};
// The slices of an A100-40GB by memory, smallest first.
std::vector<double> memory_ladder();
MemoryCase make_case(const std::string& family, CurveFamily::Group group, const MemoryCurve* recorded,
                     std::uint64_t seed);
// Whether the curve announces a failure, by a rule that is the same for every method. From the time when the job held a
// quarter of the slice (before that it is loading) there are kSudden samples or more, and they show at least half of
// the rise from the highest memory at half of that time up to the limit. A plateau that does not fit, a spike and a
// first large step are not announced. Steady growth is, and so is the second of two equal steps.
bool heralded(const MemoryCurve& curve, std::size_t failure, double limit_mib);
Foresight judge(const MemoryCase& job, ForesightMethod method);
Result<std::vector<FamilyForesight>> study_memory(const MemoryStudyOptions& options);

}  // namespace smartmig
