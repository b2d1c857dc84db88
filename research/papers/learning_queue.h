// What the queue loses by what it does not know: batches of the same commands, round after round, through the whole
// daemon (policy best) on one emulated A100 and a virtual clock. Three cases: it is told nothing and learns; it is told
// whole-GPU times by the fixed rule; or it knows each command's time on every size before the first round.
// The same inputs give the same figures. Thread rule: one run at a time in a process (a process has one emulated
// machine).
#pragma once
#include <vector>

#include "base/result.h"
#include "research/papers/learning_curves.h"

namespace smartmig {

enum class QueueKnows : std::uint8_t { kNothing, kFixedRule, kTruth };
inline constexpr int kQueueKnows = 3;
const char* name_of(QueueKnows knows);

struct QueueRound {
  double makespan_s = 0, mean_turnaround_s = 0, joules = 0;
};
// Every command runs once per round; all are submitted at the round's begin. `noise`: of the logarithm of each run.
Result<std::vector<QueueRound>> run_rounds(const std::vector<SyntheticCommand>& commands, QueueKnows knows, int rounds,
                                           double noise, std::uint64_t seed);

}  // namespace smartmig
