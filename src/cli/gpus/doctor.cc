// smartmig doctor: is this machine fit to be controlled? One line and one remedy for each check.
#include "live/gpu/doctor.h"

#include <fmt/format.h>

#include "base/json.h"
#include "cli/gpus/exercise.h"
#include "cli/gpus/gpu_options.h"
#include "cli/gpus/machine.h"
#include "cli/verbs.h"
#include "live/gpu/controller_lock.h"
#include "live/gpu/quarantine.h"

namespace smartmig::cli {
namespace {

// A GPU leaves quarantine when it answers and can be read.
int release(Machine& machine, const std::string& gpu) {
  auto quarantine = Quarantine::open(machine.state_dir() + "/quarantine.json");
  if (!quarantine) return failure(quarantine.error());
  const auto boards = machine.driver().inventory();
  if (!boards) return failure(boards.error());
  for (const GpuBoard& board : *boards) {
    if (board.uuid != gpu && std::to_string(board.index) != gpu) continue;
    if (!board.trouble.empty()) return failure(invalid("{} has a problem: {}", title(board), board.trouble));
    if (auto sound = machine.driver().health(GpuId{std::uint32_t(board.index)}); !sound) return failure(sound.error());
    const auto released = quarantine->release(board.uuid);
    if (!released) return failure(released.error());
    fmt::print("{}: {} released\n", title(board), *released);
    return 0;
  }
  return usage_error(not_found("--release: there is no GPU '{}'; give an index or UUID", gpu));
}

}  // namespace

int run_doctor(const Arguments& arguments) {
  GpuOptions options;
  ExerciseFlags flags;
  std::string gpu;
  Command cmd(
      "doctor", "",
      "Checks the driver, the GPUs, the MIG mode, permissions, cgroups, users of the devices, the disk, the clock and smartmig's state. For each check it prints a line, with a remedy if there is a problem. The exit code is 1 if something needs repair.",
      "smartmig doctor --emulate 8xa100-40gb");
  cmd.option("--release", gpu, "GPU", "end the quarantine of this GPU (index or UUID) if it has no problem");
  flags.declare(cmd);
  options.declare(cmd, true);
  if (const auto end = cmd.ends(arguments)) return *end;
  if (!flags.gpu.empty()) {
    if (!gpu.empty()) return usage_error(invalid("give either --exercise or --release, not both"));
    return run_exercise(options, flags);
  }
  auto machine = Machine::open(options, false);
  if (!machine && machine.error().code == Error::kInvalid) return usage_error(machine.error());
  if (!gpu.empty()) return machine ? release(*machine, gpu) : failure(machine.error());
  DoctorOptions where;
  where.state_dir = machine ? machine->state_dir() : options.state;
  where.lock_dir = default_lock_directory();
  where.emulated = !options.emulate.empty();
  const auto findings =
      machine ? examine(&machine->driver(), "", where) : examine(nullptr, machine.error().what, where);
  int failures = 0, warnings = 0;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Finding& f : findings) {
    const char* state = f.state == Finding::kOk ? "ok" : f.state == Finding::kWarning ? "warning" : "failure";
    failures += f.state == Finding::kFailure;
    warnings += f.state == Finding::kWarning;
    if (!options.json)
      fmt::print("{:<8} {:<12} {}{}\n", state, f.check, f.found, f.remedy.empty() ? "" : "; remedy: " + f.remedy);
    json.push_back({{"state", state}, {"check", f.check}, {"found", f.found}, {"remedy", f.remedy}});
  }
  if (options.json)
    fmt::print("{}\n", json_dump(nlohmann::ordered_json{{"checks", json}}, 1));
  else
    fmt::print("{} checks, {} warnings, {} failures\n", findings.size(), warnings, failures);
  return failures > 0 ? 1 : 0;
}

}  // namespace smartmig::cli
