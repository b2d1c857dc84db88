#include "live/emulation/emulated_machine.h"

#include <stdlib.h>

#include <filesystem>

#include "live/durable_file.h"
#include "model/platform.h"

namespace smartmig {
namespace {

namespace fs = std::filesystem;
constexpr const char* kFile = "libnvidia-ml.so.1";
constexpr std::string_view kClocks[] = {"real", "zero", "virtual"};  // by NVML_SIM_CLOCK_*

Result<std::vector<std::string>> models_of(std::string_view boards) {
  auto platform = Platform::parse(boards);
  if (!platform) platform = Platform::parse(boards, "linear:60:45:400");  // models without measured watts
  if (!platform) return platform.error();
  std::vector<std::string> models;
  for (std::size_t i = 0; i < platform->gpus(); ++i) {
    const GpuModel& gpu = *platform->model(GpuId(i)).gpu;
    if (gpu.tables() != gpu.name())
      return invalid("{} is a board with soft slices, which emulated machines do not have; write {}", gpu.name(),
                     gpu.tables());
    models.push_back(gpu.name());
  }
  return models;
}

}  // namespace

Result<std::string> find_nvml_sim() {
  std::error_code error;
  if (const char* named = ::getenv("SMARTMIG_NVML_SIM"); named && *named) {
    fs::path path = named;
    if (fs::is_directory(path, error)) path /= kFile;
    if (!fs::exists(path, error))
      return not_found(
          "SMARTMIG_NVML_SIM={}: no {} there; name the file that the target nvml_sim builds, or its directory", named,
          kFile);
    return fs::absolute(path).string();
  }
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"nvml-sim", "../lib/smartmig"})
    if (const fs::path path = program / place / kFile; fs::exists(path, error)) return path.lexically_normal().string();
  return not_found("no emulated {} in {}/nvml-sim or {}: build the target nvml_sim, or set SMARTMIG_NVML_SIM to it",
                   kFile, program.string(), (program / "../lib/smartmig").lexically_normal().string());
}

Result<EmulatedMachine> EmulatedMachine::open(Options options) {
  SMARTMIG_TRY(const auto wanted, models_of(options.boards));
  const bool any_clock = options.clock.empty();
  if (any_clock) options.clock = "virtual";
  std::size_t mode = 0;
  while (mode < std::size(kClocks) && kClocks[mode] != options.clock) ++mode;
  if (mode == std::size(kClocks)) return invalid("the clock must be real, zero or virtual, not '{}'", options.clock);
  if (options.directory.empty()) return invalid("an emulated machine needs a directory");
  if (options.library.empty()) {
    SMARTMIG_TRY(options.library, find_nvml_sim());
  }
  SMARTMIG_TRY(auto sim, SimLibrary::open(options.library));
  SMARTMIG_RETURN_IF_ERROR(make_directories(options.directory));
  options.directory = fs::weakly_canonical(options.directory).string();

  int made = 0;
  if (const auto code = sim->nvmlSimMakeMachine(options.directory.c_str(), options.boards.c_str(),
                                                options.clock.c_str(), options.power.c_str(), options.seed, &made);
      code != NVML_SUCCESS)
    return invalid("an emulated machine {} in {}: {}", options.boards, options.directory, sim->nvmlSimLastError());
  ::setenv("NVML_SIM_STATE", options.directory.c_str(), 1);
  SMARTMIG_RETURN_IF_ERROR(sim->attach());
  if (options.directory != sim->nvmlSimStateDirectory())
    return invalid("this process already uses the emulated machine in {}", sim->nvmlSimStateDirectory());

  char boards[1024] = {};
  unsigned int clock = 0;
  sim->nvmlSimGetBoards(boards, sizeof boards);
  sim->nvmlSimClockMode(&clock);
  SMARTMIG_TRY(const auto there, models_of(boards));
  if (there != wanted)
    return invalid("{} has an emulated machine of {}, not {}; use those boards, or remove that directory",
                   options.directory, boards, options.boards);
  if (any_clock)
    options.clock = kClocks[clock];
  else if (clock != mode)
    return invalid(
        "the emulated machine in {} has a {} clock, not a {} one; use that clock, or remove the "
        "directory",
        options.directory, kClocks[clock], options.clock);
  EmulatedMachine machine(std::move(options), std::move(sim));
  machine.made_ = made != 0;
  return machine;
}

Environment EmulatedMachine::environment(std::string_view search) const {
  std::string path = fs::path(library()).parent_path().string();
  if (!search.empty()) path += fmt::format(":{}", search);
  return {{"NVML_SIM_STATE", options_.directory}, {"LD_LIBRARY_PATH", std::move(path)}};
}

}  // namespace smartmig
