#include "serve/gpus/slice_guard.h"

#include <unistd.h>

#include <algorithm>

#include "live/jobs/attempt_record.h"

namespace smartmig {
namespace {

std::string name_of_attempt(AttemptId id) { return fmt::format("attempt {} of job {}", id.attempt, id.job); }

std::string out_words(const SliceGuard::Others& others, bool in_doubt) {
  return others.words + (in_doubt ? "; it may be about to end, and smartmig checks again"
                                  : "; the slice is out of service until that process ends");
}

}  // namespace

SliceGuard::Others SliceGuard::others_on(SliceKey slice, AttemptId mine) const { return find(slice, mine, false); }
SliceGuard::Others SliceGuard::others_beside(SliceKey slice, AttemptId mine) const { return find(slice, mine, true); }

SliceGuard::Others SliceGuard::find(SliceKey slice, AttemptId mine, bool has_processes) const {
  const BoardState& state = boards_.at(int(slice.first));
  const Instance* instance = find_instance(state.board, PlacementId(slice.second));
  if (!instance) return {};
  if (const auto others = runner_.others_on(instance->uuid, mine); !others.empty())
    return {fmt::format("{} is running on it", name_of_attempt(others.front())), true};
  if (!boards_.isolated()) return {};
  Others unknown;
  for (const DeviceProcess& process : state.processes) {
    if (process.gpu_instance != instance->gpu_instance || !is_alive(int(process.pid))) continue;
    if (process.pid == std::uint32_t(::getpid())) continue;  // stands in for jobs without processes
    const auto of = runner_.attempt_of_process(int(process.pid));
    if (has_processes && (!of || *of == mine)) continue;
    const std::string who =
        fmt::format("process {}{}", process.pid, process.name.empty() ? "" : " (" + process.name + ")");
    if (of) return {fmt::format("{} is running on it, of {}", who, name_of_attempt(*of)), true};
    if (!unknown && !is_monitor(process.name))
      unknown = {fmt::format("{} is running on it and does not belong to a known job", who), false};
  }
  return unknown;
}

std::string SliceGuard::silence(int gpu) const {
  const auto& unlisted = boards_.at(gpu).unlisted;
  if (!boards_.isolated() || !unlisted) return {};
  if (unlisted->code == Error::kNoPermission || unlisted->code == Error::kUnsupported) return {};
  return fmt::format("the GPU does not say which processes run on it ({})", unlisted->what);
}

void SliceGuard::refused(SliceKey slice, const Others& others) {
  ++counts_.refused_starts;
  const int looks = others.attempt ? 0 : kLooks;
  // Plans expect a slice back soon that is looked at again, so nothing is reshaped for its sake.
  if (quarantine_.put(slice, boards_.at(int(slice.first)), others.words, out_words(others, looks > 0),
                      looks > 0 ? looks * kLookAgain : SliceQuarantine::kLong))
    out_[slice] = looks;
}

bool SliceGuard::in_doubt() const {
  return std::any_of(out_.begin(), out_.end(), [](const auto& one) { return one.second > 0; });
}

void SliceGuard::look(int gpu) {
  BoardState& state = boards_.at(gpu);
  std::vector<SliceKey> here;
  for (const auto& one : out_)
    if (int(one.first.first) == gpu) here.push_back(one.first);
  for (const SliceKey& slice : here) {
    const bool there = find_instance(state.board, PlacementId(slice.second)) != nullptr;
    const Others others = there ? others_on(slice, {}) : Others();
    if (!others) {
      quarantine_.lift(slice, state);
      out_.erase(slice);
      continue;
    }
    int& looks = out_.at(slice);
    if (looks == 0) continue;
    looks = others.attempt ? 0 : looks - 1;
    if (looks > 0) continue;
    quarantine_.keep(slice, state, others.words, out_words(others, false));
  }
}

}  // namespace smartmig
