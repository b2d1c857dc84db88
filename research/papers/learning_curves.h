// Learning curves on synthetic sites: how far off is the predicted time of a command after so many runs of it? Sites of
// commands whose scaling nobody has told: kinds of the speed table that the learner's table lacks, with a launch of their own,
// and commands made by another rule. Runs come on random sizes, with noise. Beside the daemon's history stand the rule that it
// had before (time ~ size ^ -0.5 through the median) and the kind of the table that fits the runs best.
// Pure, deterministic.
#pragma once
#include <array>
#include <vector>

#include "eval/size_curves.h"
#include "serve/daemon/history.h"

namespace smartmig {

inline constexpr std::array<int, 5> kLearningSizes = {1, 2, 3, 4, 7};
inline constexpr std::array<int, 4> kLearningRuns = {1, 2, 5, 20};

struct SyntheticCommand {
  std::string name;
  bool held_out_kind = false;  // else made by a rule
  SizeCurve curve;             // its truth
  double whole_s = 100;        // on the whole GPU
  double slowed = 0;           // the logarithm of what a full board costs it, on soft slices
  double seconds_on(int slices, double load = 0) const;
};

// Half of them kinds of the table that `is_held_out`, half by the rule.
bool is_held_out(std::string_view kind);
std::vector<SyntheticCommand> synthetic_commands(std::uint64_t seed, std::size_t count, bool by_rule_only = false);

enum class Forecaster : std::uint8_t { kHistory, kFixedRule, kNearestKind };
inline constexpr int kLearners = 3;
const char* name_of(Forecaster learner);

enum class LearningCase : std::uint8_t { kHeldOutKinds, kByRule, kNeighbours, kChanged };
inline constexpr int kLearningCases = 4;
const char* name_of(LearningCase which);

// Mean of |log(predicted / true)| over commands and sizes. kChanged: so many runs after every time became 1.6 times what it
// was, of commands with 20 runs before.
struct LearningErrors {
  std::array<std::array<std::array<double, kLearningRuns.size()>, kLearners>, kLearningCases> error{};
};
LearningErrors learning_errors(std::uint64_t seed, std::size_t commands, std::size_t of_a_site, double noise);

}  // namespace smartmig
