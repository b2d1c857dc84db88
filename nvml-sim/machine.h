// The emulated machine: the rules of MIG over the shared state. Names of calls, errors and orders of checks follow
// NVML: a compute instance lives in a GPU instance and goes before it; what is used is refused with IN_USE; what does
// not fit with INSUFFICIENT_RESOURCES. Energy is integrated lazily: every change first adds watts x elapsed, then sets
// the new watts. Thread rule: every method is thread-safe.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "board.h"
#include "clock.h"
#include "nvml_abi.h"
#include "sim_api.h"
#include "store.h"

namespace smartmig::nvsim {

class Machine {
 public:
  static Result<std::shared_ptr<Machine>> over(std::shared_ptr<Store> store);

  Store& store() { return *store_; }
  Clock& clock() { return clock_; }
  int gpu_count() const { return int(boards_.size()); }
  const Board& board(int gpu) const { return *boards_[std::size_t(gpu)]; }
  bool privileged() const;  // may the caller change the machine?

  void read(const std::function<void(const State&)>& look) { store_->read(look); }
  // Accounts energy around the edit. REQUIRES: as Store::change.
  bool change(const std::function<bool(State&)>& edit);
  // Forgets processes, clients and holders that are dead.
  void refresh();

  // A change that takes time: one at a time on a board, checked when it begins and when it is done.
  nvmlReturn_t timed(int gpu, Time duration, const std::function<nvmlReturn_t(const State&)>& check,
                     const std::function<void(State&)>& apply);

  // Faults that touch any call: SLOW and HANG are lived through here; the result is a FAIL code, GPU_IS_LOST or
  // SUCCESS.
  nvmlReturn_t before_call(const char* name, int gpu);  // gpu -1: a call on no board

  nvmlReturn_t create_gpu_instance(int gpu, unsigned profile_id, const nvmlGpuInstancePlacement_t* placement,
                                   std::uint64_t& generation);
  nvmlReturn_t destroy_gpu_instance(int gpu, std::uint64_t generation);
  nvmlReturn_t create_compute_instance(int gpu, std::uint64_t gpu_instance, unsigned profile_id,
                                       const nvmlComputeInstancePlacement_t* placement, std::uint64_t& generation);
  nvmlReturn_t destroy_compute_instance(int gpu, std::uint64_t generation);
  nvmlReturn_t set_mig_mode(int gpu, unsigned mode, nvmlReturn_t& activation);
  nvmlReturn_t reset(int gpu);  // as nvidia-smi -r: instances go, a pending mode becomes the current one

  // Rules over one state, for the calls that read.
  Layout layout(const State& state, int gpu) const;
  int free_start(const State& state, int gpu, int profile) const;  // the driver's choice: highest that fits; -1 none
  unsigned remaining(const State& state, int gpu, int profile) const;
  std::vector<int> free_compute_starts(const State& state, int gpu, const GpuInstance& gi,
                                       const ComputeProfile& profile) const;
  double watts(const State& state, int gpu) const;
  std::uint64_t energy_uj(const State& state, int gpu) const;
  std::uint64_t memory_used(const State& state, int gpu, const GpuInstance* gi) const;  // nullptr: the whole board
  void send_event(State& state, int gpu, std::uint64_t type, std::uint64_t data, std::uint32_t gi, std::uint32_t ci);
  void remove_process(State& state, Process& process, std::uint64_t now);

 private:
  Machine(std::shared_ptr<Store> store, std::vector<std::shared_ptr<const Board>> boards)
      : store_(std::move(store)), clock_(*store_, [this] { refresh(); }), boards_(std::move(boards)) {}
  nvmlReturn_t check_create(const State& state, int gpu, int profile, const nvmlGpuInstancePlacement_t* placement,
                            int& start) const;
  nvmlReturn_t timed_change(int gpu, Time duration, const std::function<nvmlReturn_t(const State&)>& check,
                            const std::function<void(State&)>& apply);
  std::shared_ptr<Store> store_;
  Clock clock_;
  std::vector<std::shared_ptr<const Board>> boards_;
};

const GpuInstance* find_gpu_instance(const State& state, int gpu, std::uint64_t generation);
const ComputeInstance* find_compute_instance(const State& state, int gpu, std::uint64_t generation);
template <class T>
T* mutable_in(State&, const T* found) {  // `found` was looked up in that same state
  return const_cast<T*>(found);
}
bool held(const State& state, int gpu, std::uint64_t gpu_instance);  // by a leaked handle

Fault* find_fault(State& state, std::uint32_t kind, int gpu);
void spend(Fault& fault);
// The delay of an IN_USE lag that now starts on this board; 0 without such a fault.
std::uint64_t take_lag(State& state, int gpu);
bool keep_memory(State& state, Process& process);  // a dead one's entry stays, by a fault

}  // namespace smartmig::nvsim
