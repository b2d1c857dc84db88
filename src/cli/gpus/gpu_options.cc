#include "cli/gpus/gpu_options.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/text.h"
#include "live/durable_file.h"
#include "live/gpu/mps_driver.h"
#include "live/gpu/nvml_driver.h"
#include "live/gpu/watched_driver.h"
#include "serve/config/places.h"

namespace smartmig::cli {
namespace {

constexpr Time kCallLimit = Time(60'000'000);  // of one driver call, its retries included

// "0:3g@4,1:1g@6": emulated processes on these slices, so that a plan around them can be looked at.
Result<Ok> make_busy(FakeDriver& fake, const std::string& text) {
  std::uint32_t pid = 1000;
  for (std::string_view item : split(text, ',')) {
    const auto colon = item.find(':');
    const auto gpu = parse_int(trim(item.substr(0, colon)));
    if (colon == item.npos || !gpu || *gpu < 0)
      return invalid("--busy needs GPU:SLICE, for example 0:3g@4, not '{}'", item);
    SMARTMIG_TRY(const GpuBoard board, fake.read(GpuId(std::uint32_t(*gpu))));
    SMARTMIG_TRY(const Layout slices, parse_layout(*board.model, item.substr(colon + 1)));
    for (PlacementId p : slices)
      SMARTMIG_RETURN_IF_ERROR(fake.pretend_process(GpuId(std::uint32_t(*gpu)), p, {++pid, -1, "job", 0}));
  }
  return Ok{};
}

}  // namespace

void GpuOptions::declare(Command& cmd, bool changes) {
  cmd.option("--emulate", emulate, "GPUS", "an emulated machine instead of this one, such as 8xa100-40gb")
      .option("--state", state, "DIR", "where ledgers, intents and an emulated machine are kept")
      .option("--driver", driver, "NAME", "nvml (MIG) or mps (soft slices, not isolated)")
      .option("--nvml", nvml, "FILE", "the NVML library, else libnvidia-ml.so.1")
      .option("--like", like, "MODEL", "mps: the catalogue model whose profiles stand for shares of this GPU")
      .option("--busy", busy, "LIST", "with --emulate: slices that are in use, such as 0:3g@4,1:1g@6");
  if (changes)
    cmd.flag("--adopt", adopt, "take over instances that smartmig did not make")
        .flag("--allow-mode-change", allow_mode_change, "switch MIG mode where the configuration asks for it")
        .option("--patience-s", patience_s, "SECONDS", "how long to ask again while a slice stays in use");
  cmd.flag("--json", json, "print JSON");
}

ConfigOptions::ConfigOptions() {
  if (const char* value = std::getenv("MIG_PARTED_CONFIG_FILE")) file = value;
  if (const char* value = std::getenv("MIG_PARTED_SELECTED_CONFIG")) label = value;
}

void ConfigOptions::declare(Command& cmd, bool direct) {
  cmd.option("--config-file", file, "FILE", "mig-parted's YAML or JSON; - is standard input")
      .alias("-f")
      .option("--selected-config", label, "NAME", "which configuration of the file")
      .alias("-c");
  if (direct)
    cmd.option("--to", to, "SHAPE", "instead of a file: a shape (4g+2g+1g) or a layout (4g@0+3g@4)")
        .option("--gpu", gpus, "LIST", "with --to: only these GPUs, such as 0,3");
}

Machine::~Machine() {
  driver_.reset();
  std::error_code ignored;
  if (!temporary_.empty()) std::filesystem::remove_all(temporary_, ignored);
}

Result<Machine> Machine::open(const GpuOptions& options, bool control) {
  Machine machine;
  machine.state_dir_ = options.state;
  if (options.driver != "nvml" && options.driver != "mps")
    return invalid("--driver is nvml or mps, not '{}'", options.driver);
  if (!options.busy.empty() && options.emulate.empty()) return invalid("--busy goes with --emulate");
  if (!options.emulate.empty()) {
    FakeDriver::Options fake{"", !control, options.driver != "mps", options.adopt, options.allow_mode_change, {}};
    if (options.state.empty()) {
      std::string pattern = (std::filesystem::temp_directory_path() / "smartmig-XXXXXX").string();
      if (!::mkdtemp(pattern.data())) return io_error("cannot make a temporary directory {}", pattern);
      machine.state_dir_ = machine.temporary_ = pattern;
    } else {
      if (control) SMARTMIG_RETURN_IF_ERROR(make_directories(options.state));
      fake.file = options.state + "/emulated.json";
    }
    SMARTMIG_TRY(auto driver, FakeDriver::open(options.emulate, std::move(fake)));
    if (!options.busy.empty()) SMARTMIG_RETURN_IF_ERROR(make_busy(*driver, options.busy));
    if (control && !options.state.empty()) {
      SMARTMIG_TRY(machine.lock_, ControllerLock::take(options.state, {"emulated"}));
    }
    machine.driver_ = std::move(driver);
  } else {
    if (machine.state_dir_.empty()) machine.state_dir_ = default_state_dir();
    NvmlDriver::Options nvml;
    nvml.library = options.nvml;
    nvml.state_dir = machine.state_dir_;
    nvml.control = control && options.driver == "nvml";
    nvml.adopt = options.adopt;
    nvml.allow_mode_change = options.allow_mode_change;
    nvml.patience = from_seconds(std::clamp(options.patience_s, 0.0, 45.0));
    SMARTMIG_TRY(auto driver, NvmlDriver::open(std::move(nvml)));
    machine.driver_ = std::make_shared<WatchedDriver>(std::move(driver), kCallLimit);
  }
  if (options.driver == "mps") {
    MpsDriver::Options mps;
    mps.state_dir = machine.state_dir_;
    mps.like = options.like;
    if (const char* program = std::getenv("SMARTMIG_MPS_CONTROL"); program && *program) mps.control = program;
    if (const char* root = std::getenv("SMARTMIG_MPS_DIR"); root && *root) mps.pipe_root = root;
    SMARTMIG_TRY(machine.driver_, MpsDriver::open(machine.driver_, std::move(mps)));
    if (control && options.emulate.empty()) {  // NvmlDriver was opened for reading: the lock is taken here
      SMARTMIG_TRY(const auto boards, machine.driver_->inventory());
      std::vector<std::string> uuids;
      for (const GpuBoard& board : boards) uuids.push_back(board.uuid);
      SMARTMIG_TRY(machine.lock_, ControllerLock::take(default_lock_directory(), uuids));
    }
  }
  return machine;
}

Result<Situation> look(MigDriver& driver) {
  Situation situation;
  SMARTMIG_TRY(situation.boards, driver.inventory());
  for (const GpuBoard& board : situation.boards) {
    std::vector<DeviceProcess> running;
    if (board.trouble.empty()) {
      SMARTMIG_TRY(running, driver.processes(GpuId{std::uint32_t(board.index)}));
    }
    situation.busy.push_back(busy_layout(board, running));
    situation.processes.push_back(std::move(running));
  }
  return situation;
}

Result<std::vector<Desired>> wanted(const ConfigOptions& options, const Situation& situation) {
  if (!options.to.empty()) {
    if (!options.file.empty()) return invalid("give either -f FILE or --to SHAPE");
    std::vector<Desired> all;
    std::vector<std::size_t> chosen;
    if (options.gpus.empty())
      for (std::size_t i = 0; i < situation.boards.size(); ++i) chosen.push_back(i);
    else
      for (std::string_view item : split(options.gpus, ',')) {
        const auto index = parse_int(trim(item));
        if (!index || *index < 0 || *index >= std::int64_t(situation.boards.size()))
          return invalid("--gpu: '{}' is not a GPU of this machine, which has {}", item, situation.boards.size());
        chosen.push_back(std::size_t(*index));
      }
    for (std::size_t i : chosen) {
      SMARTMIG_TRY(const Desired desired, desired_of(situation.boards[i], options.to));
      all.push_back(desired);
    }
    return all;
  }
  if (options.file.empty()) return invalid("a configuration is missing: -f FILE -c NAME, or --to SHAPE");
  SMARTMIG_TRY(const MigConfigFile file, read_mig_config(options.file));
  std::vector<std::string> labels;
  for (const MigConfig& config : file.configs) labels.push_back(config.label);
  const MigConfig* config = options.label.empty() && labels.size() == 1 ? &file.configs[0] : file.find(options.label);
  if (!config)
    return invalid("{} has no configuration '{}'; -c takes one of: {}", options.file, options.label,
                   fmt::join(labels, ", "));
  return desired_of(*config, situation.boards);
}

Result<std::vector<GpuChange>> changes(const std::vector<Desired>& desired, const Situation& situation, bool adopt,
                                       bool mode_only) {
  std::vector<GpuChange> list;
  for (const Desired& one : desired)
    list.push_back(change_for(one, situation.boards[index(one.gpu)], situation.busy[index(one.gpu)], adopt, mode_only));
  return list;
}

std::string change_text(const GpuChange& change, const GpuBoard& board) {
  std::string out;
  if (!change.refusal.empty()) return fmt::format("refused: {}\n", change.refusal);
  if (change.plan.steps.empty() && !change.mode)
    return fmt::format(
        "{}: stays {}\n", title(board),
        board.mode == MigMode::kOn && board.model ? to_string(*board.model, board.layout) : "with MIG off");
  const GpuModel& model = *board.model;
  out +=
      fmt::format("{}: {} -> {}\n", title(board), to_string(model, change.plan.from), to_string(model, change.plan.to));
  if (change.mode && *change.mode) out += "  mode     MIG on\n";
  for (PlacementId p : change.plan.move.keep) out += fmt::format("  keep     {}\n", slice_name(model, p));
  for (const ReshapeStep& step : change.plan.steps)
    out += fmt::format("  {:<8} {:<16} {:.2f} s\n", step.operation.kind == Operation::kCreate ? "create" : "destroy",
                       slice_name(model, step.operation.placement), seconds(step.predicted));
  if (change.mode && !*change.mode) out += "  mode     MIG off\n";
  return out;
}

std::string mark(const MigDriver& driver) {
  return driver.isolated() ? "" : " (soft slices by MPS: not isolated from each other)";
}

}  // namespace smartmig::cli
