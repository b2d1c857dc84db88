#include "machine.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "driver_files.h"

namespace smartmig::nvsim {

Result<std::shared_ptr<Machine>> Machine::over(std::shared_ptr<Store> store) {
  std::vector<std::pair<std::string, std::string>> names;
  store->read([&](const State& state) {
    for (int gpu = 0; gpu < state.gpu_count; ++gpu) names.emplace_back(state.gpus[gpu].model, state.gpus[gpu].power);
  });
  std::vector<std::shared_ptr<const Board>> boards;
  for (const auto& [model, power] : names) {
    SMARTMIG_TRY(auto board, Board::named(model, power));
    boards.push_back(std::move(board));
  }
  return std::shared_ptr<Machine>(new Machine(std::move(store), std::move(boards)));
}

bool Machine::privileged() const {
  if (std::getenv("NVML_SIM_UNPRIVILEGED") != nullptr) return false;
  return store_->header().require_root == 0 || ::geteuid() == 0;
}

bool Machine::change(const std::function<bool(State&)>& edit) {
  return store_->change([&](State& state) {
    const std::uint64_t now = store_->now();
    for (int gpu = 0; gpu < state.gpu_count; ++gpu) {
      Gpu& board = state.gpus[gpu];
      board.energy_uj = energy_uj(state, gpu);
      board.energy_at = std::max(board.energy_at, now);
    }
    if (!edit(state)) return false;
    for (int gpu = 0; gpu < state.gpu_count; ++gpu) state.gpus[gpu].watts = watts(state, gpu);
    return true;
  });
}

std::uint64_t Machine::energy_uj(const State& state, int gpu) const {
  const Gpu& board = state.gpus[gpu];
  const std::uint64_t now = store_->now();
  if (now <= board.energy_at) return board.energy_uj;
  return board.energy_uj + std::uint64_t(std::llround(board.watts * double(now - board.energy_at)));
}

double Machine::watts(const State& state, int gpu) const {
  const Board& facts = board(gpu);
  int busy = 0;
  double added = 0;
  for (const ComputeInstance& ci : state.gpus[gpu].compute_instances) {
    if (ci.generation == 0) continue;
    const GpuInstance* gi = find_gpu_instance(state, gpu, ci.gpu_instance);
    double most = -1;
    for (const Process& process : state.processes)
      if (process.owner.pid != 0 && process.active && process.gpu == gpu && process.compute_instance == ci.generation) {
        const Profile& profile = facts.profile(gi->profile);
        most = std::max(most, facts.power().added(process.kind, profile) * ci.slices / profile.compute_slices);
      }
    if (most < 0) continue;
    busy += ci.slices;
    added += most;
  }
  double whole = -1;
  for (const Process& process : state.processes)
    if (process.owner.pid != 0 && process.active && process.gpu == gpu && process.compute_instance == 0)
      whole = std::max(whole, facts.power().added(process.kind, facts.profile(facts.whole_profile())));
  if (whole >= 0) {
    busy = facts.model().compute_slices();
    added = whole;
  }
  return std::min(facts.power().watts(busy, added), state.gpus[gpu].limit_mw / 1000.0);
}

std::uint64_t Machine::memory_used(const State& state, int gpu, const GpuInstance* gi) const {
  std::uint64_t used = 0;
  for (const Process& process : state.processes) {
    if (process.owner.pid == 0 || process.gpu != gpu) continue;
    const ComputeInstance* ci = find_compute_instance(state, gpu, process.compute_instance);
    if (gi == nullptr || (ci && ci->gpu_instance == gi->generation)) used += process.memory;
  }
  return used;
}

void Machine::refresh() {
  std::vector<Owner> owners;
  const auto look_at = [&owners, me = self()](const Owner& owner) {
    if (owner.pid != 0 && owner != me) owners.push_back(owner);
  };
  read([&](const State& state) {
    for (const Process& process : state.processes)
      if (!process.stuck) look_at(process.owner);
    for (const Owner& client : state.clients) look_at(client);
    for (const Holder& holder : state.holders) look_at(holder.owner);
    for (const Gpu& gpu : state.gpus) look_at(gpu.changing);
  });
  std::sort(owners.begin(), owners.end(),
            [](const Owner& a, const Owner& b) { return std::pair(a.pid, a.started) < std::pair(b.pid, b.started); });
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  std::erase_if(owners, [](const Owner& owner) { return alive(owner); });
  if (owners.empty()) return;
  const auto dead = [&](const Owner& owner) { return std::find(owners.begin(), owners.end(), owner) != owners.end(); };
  change([&](State& state) {
    for (Process& process : state.processes)
      if (dead(process.owner) && !process.stuck && !keep_memory(state, process))
        remove_process(state, process, store_->now());
    for (Owner& client : state.clients)
      if (dead(client)) client = {};
    for (Holder& holder : state.holders)
      if (dead(holder.owner)) holder = {};
    for (Gpu& gpu : state.gpus)
      if (dead(gpu.changing)) gpu.changing = {};
    return true;
  });
}

void Machine::remove_process(State& state, Process& process, std::uint64_t now) {
  const auto* found = find_compute_instance(state, process.gpu, process.compute_instance);
  if (found)
    if (const std::uint64_t lag = take_lag(state, process.gpu)) {
      ComputeInstance* ci = mutable_in(state, found);
      ci->in_use_until = std::max(ci->in_use_until, now + lag);
    }
  process = {};
}

void Machine::send_event(State& state, int gpu, std::uint64_t type, std::uint64_t data, std::uint32_t gi,
                         std::uint32_t ci) {
  Event& event = state.events[state.events_sent % kMaxEvents];
  event = {++state.events_sent, type, data, gpu, gi, ci, 0};
}

nvmlReturn_t Machine::timed(int gpu, Time duration, const std::function<nvmlReturn_t(const State&)>& check,
                            const std::function<void(State&)>& apply) {
  const nvmlReturn_t result = timed_change(gpu, duration, check, apply);
  if (result == NVML_SUCCESS) show_capabilities(*this, gpu);
  return result;
}

nvmlReturn_t Machine::timed_change(int gpu, Time duration, const std::function<nvmlReturn_t(const State&)>& check,
                                   const std::function<void(State&)>& apply) {
  const auto takes = std::uint64_t(store_->clock_mode() == NVML_SIM_CLOCK_ZERO ? 0 : duration.count());
  const int thread = thread_id();
  nvmlReturn_t result = NVML_SUCCESS;
  for (;;) {
    refresh();
    const std::uint32_t bell = store_->bell();
    std::uint64_t until = 0;
    change([&](State& state) {
      Gpu& board = state.gpus[gpu];
      if (board.changing.pid != 0) {
        until = std::max<std::uint64_t>(board.changing_until, 1);
        return false;
      }
      result = board.lost ? NVML_ERROR_GPU_IS_LOST : check(state);
      if (result != NVML_SUCCESS) return false;
      if (takes == 0) {
        apply(state);
        return true;
      }
      board.changing = self();
      board.changing_thread = thread;
      board.changing_until = store_->now() + takes;
      return true;
    });
    if (until == 0) break;
    if (clock_.is_virtual() && clock_.now() < until)
      clock_.sleep_until(until);  // not by the bell: a thread that waits in host time would hold the clock
    else
      store_->wait(bell, 2000);
  }
  if (result != NVML_SUCCESS || takes == 0) return result;
  clock_.sleep_through(takes);
  refresh();
  change([&](State& state) {
    Gpu& board = state.gpus[gpu];
    if (!(board.changing == self()) || board.changing_thread != thread) {
      result = NVML_ERROR_UNKNOWN;
      return false;
    }
    board.changing = {};
    result = board.lost ? NVML_ERROR_GPU_IS_LOST : check(state);
    if (result == NVML_SUCCESS) apply(state);
    return true;
  });
  return result;
}

const GpuInstance* find_gpu_instance(const State& state, int gpu, std::uint64_t generation) {
  if (generation != 0)
    for (const GpuInstance& gi : state.gpus[gpu].gpu_instances)
      if (gi.generation == generation) return &gi;
  return nullptr;
}

const ComputeInstance* find_compute_instance(const State& state, int gpu, std::uint64_t generation) {
  if (generation != 0)
    for (const ComputeInstance& ci : state.gpus[gpu].compute_instances)
      if (ci.generation == generation) return &ci;
  return nullptr;
}

bool held(const State& state, int gpu, std::uint64_t gpu_instance) {
  return std::any_of(std::begin(state.holders), std::end(state.holders), [&](const Holder& holder) {
    return holder.owner.pid != 0 && holder.gpu == gpu &&
           (holder.gpu_instance == 0 || gpu_instance == 0 || holder.gpu_instance == gpu_instance);
  });
}

}  // namespace smartmig::nvsim
