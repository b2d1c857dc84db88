// This process's attachment to a machine, handles, and the path that every NVML call takes: initialised? handle valid?
// a fault or a lost board? then the work. A handle is a tagged number, never an address: kind, board, generation; one
// that outlives its instance is recognised and refused.
// Environment: NVML_SIM_STATE names the machine's directory (made from NVML_SIM_GPUS, NVML_SIM_CLOCK, NVML_SIM_MIG,
// NVML_SIM_POWER and NVML_SIM_SEED if it is not there); without it the process gets a private machine.
// Thread rule: all functions are thread-safe; nvmlShutdown while other threads call lets those calls finish.
#pragma once
#include <memory>

#include "machine.h"

namespace smartmig::nvsim {

nvmlReturn_t attach();
nvmlReturn_t detach();
std::shared_ptr<Machine> machine();  // nullptr before nvmlInit
const char* last_error();
void set_last_error(std::string sentence);
const char* state_directory();
// Device files that a registered process keeps open until `close_nodes`.
void open_nodes(const std::string& directory, const std::vector<std::string>& names);
void close_nodes();

enum class Kind : std::uint64_t { kBoard = 1, kMigDevice = 2, kGpuInstance = 3, kComputeInstance = 4 };

struct Handle {
  Kind kind{};
  int gpu = -1;
  std::uint64_t generation = 0;  // 0 for a board
};

template <class T>
T make_handle(Kind kind, int gpu, std::uint64_t generation) {
  return reinterpret_cast<T>(std::uint64_t(kind) << 60 | std::uint64_t(gpu + 1) << 48 | generation);
}
Handle parse_handle(const void* handle);  // gpu -1: not one of ours

inline nvmlDevice_t board_handle(int gpu) { return make_handle<nvmlDevice_t>(Kind::kBoard, gpu, 0); }
inline nvmlDevice_t mig_handle(int gpu, std::uint64_t ci) {
  return make_handle<nvmlDevice_t>(Kind::kMigDevice, gpu, ci);
}

// on_board(__func__, device, f): f(machine, gpu) for a board's handle; INVALID_ARGUMENT for a MIG device's.
// on_device: f(machine, handle) for either. on_instance: a GPU or compute instance, checked to exist.
template <class F>
nvmlReturn_t on_handle(const char* name, const void* handle, F&& f) {
  const auto m = machine();
  if (!m) return NVML_ERROR_UNINITIALIZED;
  const Handle h = parse_handle(handle);
  if (h.gpu < 0 || h.gpu >= m->gpu_count()) return NVML_ERROR_INVALID_ARGUMENT;
  if (const nvmlReturn_t status = m->before_call(name, h.gpu); status != NVML_SUCCESS) return status;
  bool exists = true;
  if (h.kind != Kind::kBoard)
    m->read([&](const State& state) {
      exists = h.kind == Kind::kGpuInstance ? find_gpu_instance(state, h.gpu, h.generation) != nullptr
                                            : find_compute_instance(state, h.gpu, h.generation) != nullptr;
    });
  return exists ? f(*m, h) : NVML_ERROR_INVALID_ARGUMENT;
}
template <class F>
nvmlReturn_t on_board(const char* name, nvmlDevice_t device, F&& f) {
  return on_handle(name, device, [&](Machine& m, const Handle& h) {
    return h.kind == Kind::kBoard ? f(m, h.gpu) : NVML_ERROR_INVALID_ARGUMENT;
  });
}
template <class F>
nvmlReturn_t on_device(const char* name, nvmlDevice_t device, F&& f) {
  return on_handle(name, device, [&](Machine& m, const Handle& h) {
    return h.kind == Kind::kBoard || h.kind == Kind::kMigDevice ? f(m, h) : NVML_ERROR_INVALID_ARGUMENT;
  });
}
template <class F>
nvmlReturn_t on_instance(const char* name, Kind kind, const void* instance, F&& f) {
  return on_handle(name, instance,
                   [&](Machine& m, const Handle& h) { return h.kind == kind ? f(m, h) : NVML_ERROR_INVALID_ARGUMENT; });
}
template <class F>
nvmlReturn_t on_machine(const char* name, F&& f) {
  const auto m = machine();
  if (!m) return NVML_ERROR_UNINITIALIZED;
  const nvmlReturn_t status = m->before_call(name, -1);
  return status == NVML_SUCCESS ? f(*m) : status;
}

// Text out: INSUFFICIENT_SIZE unless it fits with its end.
nvmlReturn_t put_text(std::string_view text, char* out, unsigned length);
void put_name(std::string_view text, char* out, std::size_t size);  // cut to fit

template <class T>
nvmlReturn_t put(T* out, T value) {
  if (!out) return NVML_ERROR_INVALID_ARGUMENT;
  *out = value;
  return NVML_SUCCESS;
}

}  // namespace smartmig::nvsim
