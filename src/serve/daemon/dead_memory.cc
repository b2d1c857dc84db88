#include "serve/daemon/dead_memory.h"

#include <signal.h>

#include <cerrno>

#include "base/json.h"

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
      if (phantoms_.count(key)) back_in_service(key, state);
    } else if (!phantoms_.count(key) && !in_use(key) && ++seen_[key] >= kSamplesInARow) {
      take_out_of_service(key, state, dead->second);
    }
  }
  std::vector<SliceKey> gone;
  for (const auto& [key, id] : phantoms_)
    if (int(key.first) == gpu && !find_instance(state.board, PlacementId(key.second))) gone.push_back(key);
  for (const SliceKey& key : gone) back_in_service(key, state);
}

void DeadMemory::take_out_of_service(SliceKey key, BoardState& state, const Held& held) {
  const auto gpu = GpuId(key.first);
  const auto where = PlacementId(key.second);
  const GpuState& believed = session_.cluster().gpu(gpu);
  if (!believed.layout.contains(where) || believed.busy.contains(where)) return;
  JobRecord nobody;
  nobody.id = QueueId(kPhantoms + ++last_);
  nobody.spec.command = {fmt::format("dead process {}", held.pid)};
  nobody.work.estimate = std::chrono::hours(24 * 365);
  nobody.times.submitted = nobody.times.first_started = session_.now();
  if (!session_.found_with(nobody, gpu, where, nobody.work.estimate)) return;
  phantoms_[key] = nobody.id;
  std::string& words = state.quarantined[key.second];
  words = fmt::format(
      "process {} is dead and holds {} MiB there; the slice is out of service until that is free (a reset of the GPU "
      "frees it)",
      held.pid, held.mib);
  session_.note("slice_quarantined", fmt::format("\"gpu\":{},\"slice\":\"{}\",\"words\":{}", key.first,
                                                 slice_name(*state.board.model, where), json_text(words)));
}

void DeadMemory::back_in_service(SliceKey key, BoardState& state) {
  session_.withdraw(phantoms_.at(key));
  phantoms_.erase(key);
  state.quarantined.erase(key.second);
  session_.note("slice_free", fmt::format("\"gpu\":{},\"slice\":\"{}\"", key.first,
                                          slice_name(*state.board.model, PlacementId(key.second))));
}

}  // namespace smartmig
