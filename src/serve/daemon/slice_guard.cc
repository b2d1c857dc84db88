#include "serve/daemon/slice_guard.h"

#include <unistd.h>

#include "live/jobs/attempt_record.h"

namespace smartmig {
namespace {

std::string name_of_attempt(AttemptId id) { return fmt::format("attempt {} of job {}", id.attempt, id.job); }

}  // namespace

std::string SliceGuard::others_on(SliceKey slice, AttemptId mine) const { return words_of(slice, mine, false); }
std::string SliceGuard::others_beside(SliceKey slice, AttemptId mine) const { return words_of(slice, mine, true); }

std::string SliceGuard::words_of(SliceKey slice, AttemptId mine, bool has_processes) const {
  const int gpu = int(slice.first);
  const Instance* instance = find_instance(boards_.at(gpu).board, PlacementId(slice.second));
  if (!instance) return {};
  if (const auto others = runner_.others_on(instance->uuid, mine); !others.empty())
    return fmt::format("{} is alive on it", name_of_attempt(others.front()));
  if (!boards_.isolated()) return {};
  for (const DeviceProcess& process : boards_.processes_now(gpu)) {
    if (process.gpu_instance != instance->gpu_instance || !is_alive(int(process.pid))) continue;
    if (process.pid == std::uint32_t(::getpid())) continue;  // stands in for jobs without processes
    const auto of = runner_.attempt_of_process(int(process.pid));
    if (has_processes && (!of || *of == mine)) continue;
    return fmt::format("process {}{} is alive on it, {}", process.pid,
                       process.name.empty() ? "" : " (" + process.name + ")",
                       of ? "of " + name_of_attempt(*of) : "of no job that is known");
  }
  return {};
}

void SliceGuard::refused(SliceKey slice, const std::string& others) {
  ++counts_.refused_starts;
  const std::string words = others + "; the slice is out of service until that has ended";
  if (quarantine_.put(slice, boards_.at(int(slice.first)), others, words)) out_.insert(slice);
}

void SliceGuard::look(int gpu) {
  for (auto at = out_.begin(); at != out_.end();) {
    BoardState& state = boards_.at(gpu);
    const bool there = int(at->first) == gpu && find_instance(state.board, PlacementId(at->second));
    if (int(at->first) != gpu || (there && !others_on(*at, {}).empty())) {
      ++at;
      continue;
    }
    quarantine_.lift(*at, state);
    at = out_.erase(at);
  }
}

}  // namespace smartmig
