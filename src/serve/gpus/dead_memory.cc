#include "serve/gpus/dead_memory.h"

#include <signal.h>

#include <cerrno>

namespace smartmig {
namespace {

constexpr int kSamplesInARow = 2;  // an exit is not always seen at once

bool exists(std::uint32_t pid) { return ::kill(pid_t(pid), 0) == 0 || errno != ESRCH; }

}  // namespace

void DeadMemory::look(int gpu, BoardState& state, const std::function<bool(SliceKey)>& in_use) {
  std::map<int, Held> held;  // by GPU instance
  std::set<int> alive;
  state.dead_mib = 0;
  for (const DeviceProcess& process : state.processes) {
    if (exists(process.pid)) {
      alive.insert(process.gpu_instance);
    } else if (process.memory_mib > 0) {
      held[process.gpu_instance].mib += process.memory_mib;
      held[process.gpu_instance].pid = process.pid;
      state.dead_mib += process.memory_mib;
    }
  }
  for (const Instance& instance : state.board.instances) {
    const SliceKey key{std::uint32_t(gpu), index(instance.placement)};
    const auto dead = held.find(instance.gpu_instance);
    if (dead == held.end() || alive.count(instance.gpu_instance)) {
      seen_.erase(key);
      if (held_.erase(key)) quarantine_.lift(key, state);
    } else if (!held_.count(key) && !in_use(key) && ++seen_[key] >= kSamplesInARow) {
      const std::string words = fmt::format(
          "dead process {} holds {} MiB there; the slice is out of service until that memory is "
          "free (a reset of the GPU frees it)",
          dead->second.pid, dead->second.mib);
      if (quarantine_.put(key, state, fmt::format("dead process {}", dead->second.pid), words)) held_.insert(key);
    }
  }
  std::vector<SliceKey> gone;
  for (const SliceKey& key : held_)
    if (int(key.first) == gpu && !find_instance(state.board, PlacementId(key.second))) gone.push_back(key);
  for (const SliceKey& key : gone) {
    held_.erase(key);
    quarantine_.lift(key, state);
  }
}

}  // namespace smartmig
