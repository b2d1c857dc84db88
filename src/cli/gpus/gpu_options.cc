#include "cli/gpus/gpu_options.h"

#include <cstdlib>

#include "base/text.h"
#include "cli/gpus/machine.h"

namespace smartmig::cli {
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
