#include "sim_api.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "machine_init.h"
#include "nvml_shared.h"

using namespace smartmig;
using namespace smartmig::nvsim;

namespace {

template <class F>
nvmlReturn_t attached(F&& f) {
  const auto m = machine();
  return m ? f(*m) : NVML_ERROR_UNINITIALIZED;
}

// "MIG-...", "GPU-...", an index, or what CUDA_VISIBLE_DEVICES names first.
nvmlReturn_t find_device(Machine& m, const char* device, Handle& out) {
  std::string_view name = device ? std::string_view(device) : std::string_view();
  if (name.empty())
    if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) name = split(visible, ',').front();
  name = trim(name);
  if (name.empty()) name = "0";
  nvmlDevice_t handle = nullptr;
  if (const auto index = parse_int(name)) {
    if (*index < 0 || *index >= m.gpu_count()) return NVML_ERROR_NOT_FOUND;
    handle = board_handle(int(*index));
  } else if (const nvmlReturn_t status = find_uuid(m, name, handle); status != NVML_SUCCESS) {
    return status;
  }
  out = parse_handle(handle);
  bool lost = false, mig = false;
  m.read([&](const State& state) {
    lost = state.gpus[out.gpu].lost;
    mig = state.gpus[out.gpu].mig_current;
  });
  if (lost) return NVML_ERROR_GPU_IS_LOST;
  return out.kind == Kind::kBoard && mig ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}

Process* mine(State& state, unsigned token) {
  const Owner me = self();
  for (Process& process : state.processes)
    if (process.owner == me && process.token == token) return &process;
  return nullptr;
}

template <class F>
nvmlReturn_t change_mine(unsigned token, F&& edit) {
  return attached([&](Machine& m) {
    nvmlReturn_t status = NVML_ERROR_NOT_FOUND;
    m.change([&](State& state) {
      if (Process* process = mine(state, token)) status = edit(m, state, *process);
      return status == NVML_SUCCESS;
    });
    return status;
  });
}

// Lists a job on a device, and appends the names of the device files that a process on it would open.
nvmlReturn_t enter(Machine& m, const char* device, const char* kind, unsigned token, std::vector<std::string>& nodes) {
  m.refresh();
  Handle h;
  if (const nvmlReturn_t status = find_device(m, device, h); status != NVML_SUCCESS) return status;
  nvmlReturn_t status = NVML_SUCCESS;
  nodes.push_back(board_node(h.gpu));
  m.change([&](State& state) {
    const auto* ci = find_compute_instance(state, h.gpu, h.generation);
    if (h.kind == Kind::kMigDevice && !ci) status = NVML_ERROR_NOT_FOUND;
    if (mine(state, token)) status = NVML_ERROR_IN_USE;
    const auto free = std::find_if(std::begin(state.processes), std::end(state.processes),
                                   [](const Process& process) { return process.owner.pid == 0; });
    if (free == std::end(state.processes)) status = NVML_ERROR_INSUFFICIENT_RESOURCES;
    if (status != NVML_SUCCESS) return false;
    *free = {};
    free->owner = self();
    crash_point();
    free->gpu = h.gpu;
    free->token = token;
    free->compute_instance = h.generation;
    put_name(kind ? kind : "", free->kind, sizeof free->kind);
    if (ci) {
      const unsigned gi = find_gpu_instance(state, h.gpu, ci->gpu_instance)->id;
      nodes.push_back(gpu_instance_node(h.gpu, gi));
      nodes.push_back(compute_instance_node(h.gpu, gi, ci->id));
    }
    return true;
  });
  return status;
}

nvmlReturn_t set_memory(unsigned token, unsigned long long bytes) {
  return change_mine(token, [&](Machine& m, State& state, Process& process) {
    const auto* ci = find_compute_instance(state, process.gpu, process.compute_instance);
    const auto* gi = ci ? find_gpu_instance(state, process.gpu, ci->gpu_instance) : nullptr;
    const Board& board = m.board(process.gpu);
    const unsigned long long total = (gi ? board.memory_mib(gi->profile) : board.memory_mib()) * (1ull << 20);
    const unsigned long long others = m.memory_used(state, process.gpu, gi) - process.memory;
    if (bytes > total || others > total - bytes) return NVML_ERROR_MEMORY;
    process.memory = bytes;
    return NVML_SUCCESS;
  });
}

}  // namespace

nvmlReturn_t nvmlSimRegisterProcess(const char* device, const char* kind) {
  return attached([&](Machine& m) {
    Handle h;
    if (const nvmlReturn_t status = find_device(m, device, h); status != NVML_SUCCESS) return status;
    if (!m.clock().join(0)) return NVML_ERROR_INSUFFICIENT_RESOURCES;
    std::vector<std::string> nodes = {"nvidiactl"};
    const nvmlReturn_t status = enter(m, device, kind, 0, nodes);
    if (status == NVML_SUCCESS)
      open_nodes(m.store().directory(), nodes);
    else if (status != NVML_ERROR_IN_USE)
      m.clock().leave();
    return status;
  });
}

nvmlReturn_t nvmlSimStandIn(const char* device, const char* kind, unsigned int token) {
  return attached([&](Machine& m) {
    std::vector<std::string> nodes;
    return token == 0 ? NVML_ERROR_INVALID_ARGUMENT : enter(m, device, kind, token, nodes);
  });
}

nvmlReturn_t nvmlSimStandDown(unsigned int token) {
  if (token == 0) return NVML_ERROR_INVALID_ARGUMENT;
  return change_mine(token, [](Machine& m, State& state, Process& process) {
    m.remove_process(state, process, m.store().now());
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlSimStandInMemory(unsigned int token, unsigned long long bytes) {
  return token == 0 ? NVML_ERROR_INVALID_ARGUMENT : set_memory(token, bytes);
}

nvmlReturn_t nvmlSimUnregisterProcess(void) {
  close_nodes();
  const nvmlReturn_t status = change_mine(0, [](Machine& m, State& state, Process& process) {
    m.remove_process(state, process, m.store().now());
    return NVML_SUCCESS;
  });
  if (status == NVML_SUCCESS)
    if (const auto m = machine()) m->clock().leave();
  return status;
}

nvmlReturn_t nvmlSimSetMemory(unsigned long long bytes) { return set_memory(0, bytes); }

nvmlReturn_t nvmlSimSetKind(const char* kind) {
  return change_mine(0, [&](Machine&, State&, Process& process) {
    put_name(kind ? kind : "", process.kind, sizeof process.kind);
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlSimSetActive(int active) {
  return change_mine(0, [&](Machine&, State&, Process& process) {
    process.active = active != 0;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlSimGetSlice(const char* device, nvmlSimSlice_t* slice) {
  return attached([&](Machine& m) {
    if (!slice) return NVML_ERROR_INVALID_ARGUMENT;
    Handle h;
    if (const nvmlReturn_t status = find_device(m, device, h); status != NVML_SUCCESS) return status;
    nvmlReturn_t status = NVML_SUCCESS;
    m.read([&](const State& state) {
      const Board& board = m.board(h.gpu);
      *slice = {};
      slice->gpuIndex = unsigned(h.gpu);
      slice->boardComputeSlices = unsigned(board.model().compute_slices());
      slice->isMigDevice = h.kind == Kind::kMigDevice;
      put_name(board.name(), slice->gpuModel, sizeof slice->gpuModel);
      int profile = board.whole_profile();
      slice->computeSlices = slice->boardComputeSlices;
      slice->memoryBytes = board.memory_mib() * (1ull << 20);
      std::string uuid = "GPU-" + uuid_text(state.gpus[h.gpu].uuid);
      if (h.kind == Kind::kMigDevice) {
        const auto* ci = find_compute_instance(state, h.gpu, h.generation);
        if (!ci) {
          status = NVML_ERROR_NOT_FOUND;
          return;
        }
        profile = find_gpu_instance(state, h.gpu, ci->gpu_instance)->profile;
        slice->computeSlices = unsigned(ci->slices);
        slice->memoryBytes = board.memory_mib(profile) * (1ull << 20);
        uuid = "MIG-" + uuid_text(ci->uuid);
      }
      put_name(board.profile(profile).name, slice->profile, sizeof slice->profile);
      put_name(uuid, slice->uuid, sizeof slice->uuid);
    });
    return status;
  });
}

nvmlReturn_t nvmlSimClockMode(unsigned int* mode) {
  return attached([&](Machine& m) { return put(mode, unsigned(m.store().clock_mode())); });
}
nvmlReturn_t nvmlSimNow(unsigned long long* us) {
  return attached([&](Machine& m) { return put(us, static_cast<unsigned long long>(m.store().now())); });
}
nvmlReturn_t nvmlSimSleep(unsigned long long us) {
  return attached([&](Machine& m) { return m.clock().sleep(us) ? NVML_SUCCESS : NVML_ERROR_NOT_READY; });
}
nvmlReturn_t nvmlSimClockJoin(unsigned int flags) {
  return attached([&](Machine& m) { return m.clock().join(flags) ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_RESOURCES; });
}
nvmlReturn_t nvmlSimClockLeave(void) {
  return attached([](Machine& m) { return m.clock().leave(), NVML_SUCCESS; });
}
nvmlReturn_t nvmlSimClockBlock(void) {
  return attached([](Machine& m) { return m.clock().block(), NVML_SUCCESS; });
}
nvmlReturn_t nvmlSimClockUnblock(void) {
  return attached([](Machine& m) { return m.clock().unblock(thread_id()), NVML_SUCCESS; });
}
nvmlReturn_t nvmlSimClockUnblockThread(unsigned int thread) {
  return attached([&](Machine& m) { return m.clock().unblock(int(thread)), NVML_SUCCESS; });
}
nvmlReturn_t nvmlSimExpectProcess(unsigned int pid) {
  return attached([&](Machine& m) { return m.clock().expect(int(pid)) ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND; });
}
nvmlReturn_t nvmlSimWake(unsigned int pid) {
  return attached([&](Machine& m) { return m.clock().wake(int(pid), 0), NVML_SUCCESS; });
}
nvmlReturn_t nvmlSimWakeThread(unsigned int thread) {
  if (thread == 0) return NVML_ERROR_INVALID_ARGUMENT;
  return attached([&](Machine& m) { return m.clock().wake(::getpid(), int(thread)), NVML_SUCCESS; });
}
void nvmlSimInterrupt(void) { Clock::interrupt(); }

nvmlReturn_t nvmlSimInjectFault(const nvmlSimFault_t* fault) {
  return attached([&](Machine& m) {
    if (!fault || fault->kind < NVML_SIM_FAULT_IN_USE_LAG || fault->kind > NVML_SIM_FAULT_STUCK_MEMORY)
      return NVML_ERROR_INVALID_ARGUMENT;
    const bool on_one = fault->kind >= NVML_SIM_FAULT_GPU_LOST && fault->kind <= NVML_SIM_FAULT_ECC;
    if (fault->gpu < (on_one ? 0 : -1) || fault->gpu >= m.gpu_count() || (!on_one && fault->count == 0))
      return NVML_ERROR_INVALID_ARGUMENT;
    const Owner holder = fault->kind == NVML_SIM_FAULT_LEAKED_HANDLE ? owner_of(int(fault->pid)) : Owner{};
    nvmlReturn_t status = NVML_SUCCESS;
    m.change([&](State& state) {
      if (fault->kind == NVML_SIM_FAULT_GPU_LOST) {
        state.gpus[fault->gpu].lost = 1;
        m.send_event(state, fault->gpu, nvmlEventTypeXidCriticalError, 79, NVML_NO_INSTANCE_ID, NVML_NO_INSTANCE_ID);
        return true;
      }
      if (fault->kind == NVML_SIM_FAULT_XID || fault->kind == NVML_SIM_FAULT_ECC) {
        const bool ecc = fault->kind == NVML_SIM_FAULT_ECC;
        if (ecc) state.gpus[fault->gpu].ecc_errors += fault->count == NVML_SIM_UNTIL_CLEARED ? 1 : fault->count;
        m.send_event(state, fault->gpu, nvmlEventTypeXidCriticalError, ecc ? 48 : fault->code, NVML_NO_INSTANCE_ID,
                     NVML_NO_INSTANCE_ID);
        return true;
      }
      if (fault->kind == NVML_SIM_FAULT_LEAKED_HANDLE) {
        std::uint64_t generation = 0;
        for (const GpuInstance& gi : state.gpus[fault->gpu].gpu_instances)
          if (gi.generation != 0 && gi.id == fault->gpuInstanceId) generation = gi.generation;
        const auto free = std::find_if(std::begin(state.holders), std::end(state.holders),
                                       [](const Holder& entry) { return entry.owner.pid == 0; });
        if (holder.pid == 0 || (generation == 0 && fault->gpuInstanceId != NVML_NO_INSTANCE_ID))
          status = NVML_ERROR_NOT_FOUND;
        else if (free == std::end(state.holders))
          status = NVML_ERROR_INSUFFICIENT_RESOURCES;
        else
          *free = {holder, fault->gpu, 0, generation};
        return status == NVML_SUCCESS;
      }
      const auto free = std::find_if(std::begin(state.faults), std::end(state.faults),
                                     [](const Fault& entry) { return entry.kind == 0; });
      if (free == std::end(state.faults)) {
        status = NVML_ERROR_INSUFFICIENT_RESOURCES;
        return false;
      }
      *free = {};
      free->kind = fault->kind;
      free->gpu = fault->gpu;
      free->count = fault->count;
      free->code = fault->code;
      free->delay_us = fault->delayUs;
      put_name({fault->call, ::strnlen(fault->call, sizeof fault->call)}, free->call, sizeof free->call);
      return true;
    });
    return status;
  });
}

nvmlReturn_t nvmlSimClearFaults(unsigned int kind, int gpu) {
  return attached([&](Machine& m) {
    if (kind > NVML_SIM_FAULT_STUCK_MEMORY || gpu < -1 || gpu >= m.gpu_count()) return NVML_ERROR_INVALID_ARGUMENT;
    const auto wanted = [&](unsigned of, int on) { return (kind == 0 || kind == of) && (gpu == -1 || gpu == on); };
    m.change([&](State& state) {
      for (Fault& fault : state.faults)
        if (fault.kind != 0 && (wanted(fault.kind, fault.gpu) || (fault.gpu == -1 && wanted(fault.kind, gpu))))
          fault = {};
      for (Holder& holder : state.holders)
        if (wanted(NVML_SIM_FAULT_LEAKED_HANDLE, holder.gpu)) holder = {};
      for (Process& process : state.processes)
        if (process.stuck && wanted(NVML_SIM_FAULT_STUCK_MEMORY, process.gpu)) process = {};
      for (int on = 0; on < state.gpu_count; ++on)
        if (wanted(NVML_SIM_FAULT_GPU_LOST, on)) state.gpus[on].lost = 0;
      if (kind == 0 || kind == NVML_SIM_FAULT_HANG) ++state.hangs_cleared;
      return true;
    });
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlSimResetGpu(unsigned int gpu) {
  return attached(
      [&](Machine& m) { return gpu < unsigned(m.gpu_count()) ? m.reset(int(gpu)) : NVML_ERROR_INVALID_ARGUMENT; });
}

nvmlReturn_t nvmlSimMakeMachine(const char* directory, const char* gpus, const char* clock, const char* power,
                                unsigned long long seed, int* made_now) {
  if (!directory || !*directory) return NVML_ERROR_INVALID_ARGUMENT;
  MachineSpec spec;
  if (gpus) spec.gpus = gpus;
  if (clock) spec.clock = clock;
  if (power) spec.power = power;
  spec.seed = seed;
  auto made = Store::remove_of_earlier_boot(directory);
  const bool there = ::access((std::string(directory) + "/state").c_str(), F_OK) == 0;
  if (made) made = Store::create(directory, spec);
  if (made_now) *made_now = made && !there;
  if (made) return NVML_SUCCESS;
  set_last_error(made.error().what);
  return made.error().code == Error::kInvalid || made.error().code == Error::kNotFound ? NVML_ERROR_INVALID_ARGUMENT
                                                                                       : NVML_ERROR_UNKNOWN;
}

nvmlReturn_t nvmlSimGetBoards(char* text, unsigned int length) {
  return attached([&](Machine& m) {
    std::string boards;
    for (int gpu = 0, same = 1; gpu < m.gpu_count(); ++gpu, ++same) {
      if (gpu + 1 < m.gpu_count() && m.board(gpu + 1).name() == m.board(gpu).name()) continue;
      boards += fmt::format("{}{}x{}", boards.empty() ? "" : ",", same, m.board(gpu).name());
      same = 0;
    }
    return put_text(boards, text, length);
  });
}

const char* nvmlSimLastError(void) { return last_error(); }
const char* nvmlSimStateDirectory(void) { return state_directory(); }
