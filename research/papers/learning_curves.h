// Learning curves on synthetic sites: how far off is the predicted time of a command after a number of its runs? A site
// has commands of unknown scaling: kinds of the speed table that the learner's table lacks, with their own launch, and
// commands made by another rule. Runs come on random sizes, with noise. The daemon's history competes with a fixed rule
// (time ~ size ^ -0.5 through the median) and with the kind of the table that fits the runs best. Pure, deterministic.
#pragma once
#include <array>
#include <vector>

#include "eval/size_curves.h"
#include "queue/learning/history.h"

namespace smartmig {

inline constexpr std::array<int, 5> kLearningSizes = {1, 2, 3, 4, 7};
inline constexpr std::array<int, 4> kLearningRuns = {1, 2, 5, 20};

struct SyntheticCommand {
  std::string name;
  bool held_out_kind = false;  // otherwise made by a rule
  SizeCurve curve;             // its true curve
  double whole_s = 100;        // on the whole GPU
  double slowed = 0;           // logarithm of what a full board costs it, on soft slices
  double seconds_on(int slices, double load = 0) const;
};

// Half are kinds of the table for which `is_held_out`, half follow the rule.
bool is_held_out(std::string_view kind);
std::vector<SyntheticCommand> synthetic_commands(std::uint64_t seed, std::size_t count, bool by_rule_only = false);

enum class Forecaster : std::uint8_t { kHistory, kFixedRule, kNearestKind };
inline constexpr int kLearners = 3;
const char* name_of(Forecaster learner);

enum class LearningCase : std::uint8_t { kHeldOutKinds, kByRule, kNeighbours, kChanged };
inline constexpr int kLearningCases = 4;
const char* name_of(LearningCase which);

// Mean of |log(predicted / true)| over commands and sizes. kChanged: this many runs after every time became 1.6 times
// as long, for commands with 20 earlier runs.
struct LearningErrors {
  std::array<std::array<std::array<double, kLearningRuns.size()>, kLearners>, kLearningCases> error{};
};
LearningErrors learning_errors(std::uint64_t seed, std::size_t commands, std::size_t of_a_site, double noise);

}  // namespace smartmig
