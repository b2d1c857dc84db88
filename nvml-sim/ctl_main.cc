// nvml-sim-ctl: makes, shows and troubles an emulated machine.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "arguments.h"
#include "base/text.h"
#include "ctl_run.h"
#include "ctl_show.h"
#include "machine_init.h"
#include "session.h"

using namespace smartmig;
using namespace smartmig::nvsim;

namespace {

constexpr const char* kHelp = R"(nvml-sim-ctl VERB DIR [options]: emulated machines for libnvidia-ml.so.1
nvml-sim-ctl run [DIR] [options] -- PROGRAM [arguments]

  init DIR [--gpus 8xa100-40gb] [--clock real|zero|virtual] [--mig on|off] [--power NAME] [--seed N]
           [--require-root] [--force]
      Makes a machine. --power: a model of data/power.csv or linear:IDLE_W:W_PER_SLICE:CAP_W. --require-root: who is
      not root may not change it. --force: instead of the one in DIR.
  run [DIR] [options of init] -- PROGRAM [arguments]
      PROGRAM finds the boards where it would on a real machine: libnvidia-ml.so.1, /proc/driver/nvidia, /proc/modules,
      /proc/devices, /sys/bus/pci and /dev, in a mount namespace that is its own. Needs no root where the kernel lets
      users have one. Without DIR: the machine of $NVML_SIM_STATE, else one that is there for PROGRAM alone.
  show DIR [--json]
  fault DIR KIND [--gpu N] [--count N] [--ms X] [--call NAME] [--code N] [--pid P] [--gi ID]
      KIND: in-use-lag (--ms), fail (--code, --call), slow (--ms, --call), hang (--call), wrong-readback, create-lies,
      destroy-lies, gpu-lost (--gpu), leaked-handle (--gpu, --pid, --gi), xid (--gpu, --code), ecc (--gpu, --count),
      stuck-memory (a process that dies with memory stays listed with it until this is cleared);
      also create-fail, ci-refused and destroy-fail (--code). --gpu: every board without it. --count: until cleared without it. --call: how the name begins.
  clear DIR [KIND] [--gpu N]
  hold DIR --gpu N [--gi ID]
      Holds the device open, as a monitor may, until it is killed.
  reset DIR --gpu N
      As nvidia-smi --gpu-reset: instances go, a pending MIG mode becomes the current one.
  sleep DIR --s X
      Waits on the machine's clock.

Example: nvml-sim-ctl init /tmp/node --gpus 8xa100-40gb && nvml-sim-ctl show /tmp/node
         nvml-sim-ctl run /tmp/node -- lspci -d 10de:
)";

struct Options {
  MachineSpec spec;
  std::string mig = "on", call, code;
  long long gpu = -1, count = -1, pid = 0, gi = -1, seed = 0;
  double ms = 0, s = 0;
  bool json = false, force = false, help = false;
};

Error refused(nvmlReturn_t status, std::string_view what) { return io_error("{}: {}", what, nvmlErrorString(status)); }

Result<Ok> finish(Options& options) {  // what the options of init say
  if (options.mig != "on" && options.mig != "off") return invalid("--mig {}: on or off", options.mig);
  if (options.seed < 0) return invalid("--seed: a number from 0");
  options.spec.mig = options.mig == "on";
  options.spec.seed = std::uint64_t(options.seed);
  return Ok{};
}

Result<Ok> init(const std::string& directory, Options& options) {
  SMARTMIG_RETURN_IF_ERROR(finish(options));
  if (!options.force && ::access((directory + "/state").c_str(), F_OK) == 0)
    return invalid("{} holds a machine already: --force makes a new one in its place", directory);
  return Store::create(directory, options.spec, options.force);  // what is there goes once the new one is whole
}

Result<nvmlSimFault_t> fault_from(std::string_view kind, const Options& options) {
  nvmlSimFault_t fault{};
  std::string call = options.call, code = options.code;
  if (kind == "create-fail" || kind == "ci-refused" || kind == "destroy-fail") {
    if (call.empty())
      call = kind == "create-fail"  ? "nvmlDeviceCreateGpuInstance"
             : kind == "ci-refused" ? "nvmlGpuInstanceCreateComputeInstance"
                                    : "nvmlGpuInstanceDestroy";
    if (code.empty()) code = kind == "destroy-fail" ? "19" : "23";
    kind = "fail";
  }
  fault.kind = nvmlSimFaultKind_t(fault_named(kind));
  if (fault.kind == 0) return invalid("no fault '{}': see nvml-sim-ctl --help", kind);
  const auto number = parse_int(code.empty() ? "999" : code);
  if (!number || *number < 1 || *number > 999) return invalid("--code {}: an nvmlReturn_t, 1 to 999", code);
  if (options.count == 0 || options.count < -1 || options.count >= NVML_SIM_UNTIL_CLEARED)
    return invalid("--count {}: at least 1", options.count);
  if (options.ms < 0 || options.ms > 1e9) return invalid("--ms {}: from 0 to 1000000000", options.ms);
  if (options.gpu < 0 && fault.kind >= NVML_SIM_FAULT_GPU_LOST && fault.kind <= NVML_SIM_FAULT_ECC)
    return invalid("fault {} needs --gpu", kind);
  fault.gpu = int(options.gpu);
  fault.count = options.count < 0 ? NVML_SIM_UNTIL_CLEARED : unsigned(options.count);
  fault.code = unsigned(*number);
  fault.delayUs = static_cast<unsigned long long>(std::llround(options.ms * 1000));
  fault.pid = unsigned(options.pid);
  fault.gpuInstanceId = options.gi < 0 ? NVML_NO_INSTANCE_ID : unsigned(options.gi);
  put_name(call, fault.call, sizeof fault.call);
  return fault;
}

Result<Ok> hold(const std::string& directory, const Options& options) {
  nvmlSimFault_t fault{};
  fault.kind = NVML_SIM_FAULT_LEAKED_HANDLE;
  fault.gpu = int(options.gpu);
  fault.pid = unsigned(::getpid());
  fault.gpuInstanceId = options.gi < 0 ? NVML_NO_INSTANCE_ID : unsigned(options.gi);
  if (const nvmlReturn_t status = nvmlSimInjectFault(&fault); status != NVML_SUCCESS) return refused(status, "hold");
  std::vector<std::string> nodes = {board_node(fault.gpu)};
  if (options.gi >= 0) nodes.push_back(gpu_instance_node(fault.gpu, fault.gpuInstanceId));
  open_nodes(directory, nodes);
  fmt::print("process {} holds GPU {}\n", ::getpid(), fault.gpu);
  std::fflush(stdout);
  for (;;) ::pause();
}

Result<Ok> run(const std::string& verb, const std::string& directory, const std::vector<std::string>& rest,
               Options& options) {
  if (verb == "init") return init(directory, options);
  ::setenv("NVML_SIM_STATE", directory.c_str(), 1);
  ::unsetenv("NVML_SIM_GPUS");
  if (nvmlInit_v2() != NVML_SUCCESS) return io_error("{}", nvmlSimLastError());
  if (options.gpu >= machine()->gpu_count())
    return invalid("--gpu {}: the machine has {} GPUs", options.gpu, machine()->gpu_count());
  nvmlReturn_t status = NVML_SUCCESS;
  if (verb == "show") {
    std::fputs((options.json ? show_json(*machine()) : show_text(*machine())).c_str(), stdout);
  } else if (verb == "fault") {
    if (rest.empty()) return invalid("fault needs a kind: see nvml-sim-ctl --help");
    SMARTMIG_TRY(const nvmlSimFault_t fault, fault_from(rest[0], options));
    status = nvmlSimInjectFault(&fault);
  } else if (verb == "clear") {
    const std::uint32_t kind = rest.empty() ? 0 : fault_named(rest[0]);
    if (!rest.empty() && kind == 0) return invalid("no fault '{}': see nvml-sim-ctl --help", rest[0]);
    status = nvmlSimClearFaults(kind, int(options.gpu));
  } else if (verb == "hold" || verb == "reset") {
    if (options.gpu < 0) return invalid("{} needs --gpu", verb);
    if (verb == "hold") return hold(directory, options);
    status = nvmlSimResetGpu(unsigned(options.gpu));
  } else if (verb == "sleep") {
    if (!(options.s >= 0) || options.s > kMaxSeconds) return invalid("--s: seconds, 0 or more");
    status = nvmlSimSleep(static_cast<unsigned long long>(std::llround(options.s * 1e6)));
  } else {
    return invalid("no verb '{}': init, run, show, fault, clear, hold, reset or sleep", verb);
  }
  nvmlShutdown();
  if (status != NVML_SUCCESS) return refused(status, verb);
  return Ok{};
}

// run [DIR] -- PROGRAM ...; the exit code where something stays behind.
Result<int> run_program(const std::vector<std::string>& words, const std::vector<std::string>& program,
                        Options& options) {
  if (program.empty() || words.size() > 2) return invalid("run [DIR] -- PROGRAM [arguments]: see nvml-sim-ctl --help");
  SMARTMIG_RETURN_IF_ERROR(finish(options));
  const char* state = std::getenv("NVML_SIM_STATE");
  const std::string directory = words.size() == 2 ? words[1] : state ? state : "";
  if (directory.empty()) return run_on_new_machine(options.spec, program);
  return run_on_machine(directory, program);
}

int report(const Error& error) {
  fmt::print(stderr, "nvml-sim-ctl: {}\n", error.what);
  return error.code == Error::kInvalid ? 2 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  Arguments arguments;
  arguments.flag("--help", options.help)
      .flag("--json", options.json)
      .flag("--force", options.force)
      .flag("--require-root", options.spec.require_root)
      .option("--gpus", options.spec.gpus)
      .option("--clock", options.spec.clock)
      .option("--power", options.spec.power)
      .option("--mig", options.mig)
      .option("--seed", options.seed)
      .option("--gpu", options.gpu)
      .option("--count", options.count)
      .option("--ms", options.ms)
      .option("--call", options.call)
      .option("--code", options.code)
      .option("--pid", options.pid)
      .option("--gi", options.gi)
      .option("--s", options.s);
  char** const dashes = std::find_if(argv + 1, argv + argc, [](const char* word) { return !std::strcmp(word, "--"); });
  auto words = arguments.parse({argv + 1, dashes});
  if (options.help) return std::fputs(kHelp, stdout), 0;
  if (words && !words->empty() && words->front() == "run") {
    const auto code = run_program(*words, {std::min(dashes + 1, argv + argc), argv + argc}, options);
    return code ? *code : report(code.error());
  }
  if (!words || words->size() < 2 || dashes != argv + argc) {
    fmt::print(stderr, "nvml-sim-ctl: {}\n", words ? "give a verb and a directory: see --help" : words.error().what);
    return 2;
  }
  const std::string verb = (*words)[0], directory = (*words)[1];
  const auto result = run(verb, directory, {words->begin() + 2, words->end()}, options);
  return result ? 0 : report(result.error());
}
