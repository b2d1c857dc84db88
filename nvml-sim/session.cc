#include "session.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>

#include "base/text.h"

namespace smartmig::nvsim {
namespace {

struct Session {
  std::mutex mutex;
  int references = 0;
  std::shared_ptr<Machine> machine;
  std::string error, directory;
  std::vector<int> nodes;
};
Session& session() {
  // Never destroyed, for calls may come from other destructors; empty after the last shutdown, so that nothing leaks
  // when the library is closed.
  alignas(Session) static char place[sizeof(Session)];
  static Session* const only = new (place) Session;
  return *only;
}

const char* environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? value : otherwise;
}

Result<MachineSpec> spec_from_environment() {
  MachineSpec spec;
  spec.gpus = environment("NVML_SIM_GPUS", spec.gpus.c_str());
  spec.clock = environment("NVML_SIM_CLOCK", spec.clock.c_str());
  spec.power = environment("NVML_SIM_POWER", spec.power.c_str());
  const std::string_view mig = environment("NVML_SIM_MIG", "on"), seed = environment("NVML_SIM_SEED", "0");
  if (mig != "on" && mig != "off") return invalid("NVML_SIM_MIG={}: on or off", mig);
  spec.mig = mig == "on";
  const auto number = parse_int(seed);
  if (!number || *number < 0) return invalid("NVML_SIM_SEED={}: a number from 0", seed);
  spec.seed = std::uint64_t(*number);
  return spec;
}

Result<std::shared_ptr<Machine>> open_machine() {
  const std::string directory = environment("NVML_SIM_STATE", "");
  if (directory.empty()) {
    SMARTMIG_TRY(const MachineSpec spec, spec_from_environment());
    SMARTMIG_TRY(auto store, Store::make_private(spec));
    return Machine::over(std::move(store));
  }
  if (::access((directory + "/state").c_str(), F_OK) != 0 && std::getenv("NVML_SIM_GPUS")) {
    SMARTMIG_TRY(const MachineSpec spec, spec_from_environment());
    SMARTMIG_RETURN_IF_ERROR(Store::create(directory, spec));
  }
  SMARTMIG_TRY(auto store, Store::open(directory));
  return Machine::over(std::move(store));
}

void enter_client(Machine& machine) {
  machine.refresh();
  machine.change([](State& state) {
    const auto clients = std::begin(state.clients);
    if (std::find(clients, std::end(state.clients), self()) != std::end(state.clients)) return false;
    const auto free = std::find(clients, std::end(state.clients), Owner{});
    if (free == std::end(state.clients)) return false;  // not counted; matters to mode changes alone
    *free = self();
    return true;
  });
}

void leave_client(Machine& machine) {
  machine.change([](State& state) {
    const auto mine = std::find(std::begin(state.clients), std::end(state.clients), self());
    if (mine == std::end(state.clients)) return false;
    *mine = {};
    return true;
  });
}

}  // namespace

nvmlReturn_t attach() {
  Session& s = session();
  const std::lock_guard lock(s.mutex);
  if (s.references > 0) return ++s.references, NVML_SUCCESS;
  auto opened = open_machine();
  if (!opened) {
    s.error = opened.error().what;
    return opened.error().code == Error::kNotFound ? NVML_ERROR_DRIVER_NOT_LOADED : NVML_ERROR_UNKNOWN;
  }
  std::string().swap(s.error);
  s.machine = std::move(*opened);
  s.directory = s.machine->store().directory();
  s.references = 1;
  enter_client(*s.machine);
  return NVML_SUCCESS;
}

nvmlReturn_t detach() {
  Session& s = session();
  std::shared_ptr<Machine> last;
  {
    const std::lock_guard lock(s.mutex);
    if (s.references == 0) return NVML_ERROR_UNINITIALIZED;
    if (--s.references > 0) return NVML_SUCCESS;
    last = std::move(s.machine);
    std::string().swap(s.directory);
  }
  leave_client(*last);
  return NVML_SUCCESS;
}

std::shared_ptr<Machine> machine() {
  Session& s = session();
  const std::lock_guard lock(s.mutex);
  return s.machine;
}

const char* last_error() { return session().error.c_str(); }
void set_last_error(std::string sentence) {
  Session& s = session();
  const std::lock_guard lock(s.mutex);
  s.error = std::move(sentence);
}
const char* state_directory() { return session().directory.c_str(); }

void open_nodes(const std::string& directory, const std::vector<std::string>& names) {
  if (directory.empty()) return;
  Session& s = session();
  const std::lock_guard lock(s.mutex);
  for (const std::string& name : names)
    if (const int fd = ::open((directory + "/dev/" + name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666); fd >= 0)
      s.nodes.push_back(fd);
}

void close_nodes() {
  Session& s = session();
  const std::lock_guard lock(s.mutex);
  for (const int fd : s.nodes) ::close(fd);
  std::vector<int>().swap(s.nodes);
}

Handle parse_handle(const void* handle) {
  const auto bits = reinterpret_cast<std::uint64_t>(handle);
  const std::uint64_t kind = bits >> 60, gpu = bits >> 48 & 0xFFF;
  Handle out;
  out.generation = bits & 0xFFFFFFFFFFFF;
  const bool board = kind == std::uint64_t(Kind::kBoard);
  if (kind < 1 || kind > 4 || gpu == 0 || board != (out.generation == 0)) return {};
  out.kind = Kind(kind);
  out.gpu = int(gpu) - 1;
  return out;
}

nvmlReturn_t put_text(std::string_view text, char* out, unsigned length) {
  if (!out) return NVML_ERROR_INVALID_ARGUMENT;
  if (length <= text.size()) return NVML_ERROR_INSUFFICIENT_SIZE;
  put_name(text, out, length);
  return NVML_SUCCESS;
}

void put_name(std::string_view text, char* out, std::size_t size) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(out, text.data(), length);
  out[length] = 0;
}

}  // namespace smartmig::nvsim
