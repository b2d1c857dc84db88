#include "cli/gpus/gpu_options.h"

#include "base/file.h"
#include "base/text.h"
#include "cli/gpus/machine.h"
#include "cli/verbs.h"

namespace smartmig::cli {
void GpuOptions::declare(Command& cmd, bool changes) {
  cmd.heading("Machine");
  cmd.option("--emulate", emulate, "GPUS", "use an emulated machine instead of this one, such as 8xa100-40gb")
      .option("--state", state, "DIR", "directory for ledgers, intents and the emulated machine")
      .env("SMARTMIG_STATE")
      .option("--driver", driver, "NAME", "nvml (MIG) or mps (soft slices, not isolated)")
      .option("--nvml", nvml, "FILE", "NVML library (default: libnvidia-ml.so.1)")
      .option("--like", like, "MODEL",
              "with --driver mps: catalogue model whose profiles define the shares of this GPU")
      .option("--busy", busy, "LIST", "with --emulate: slices to treat as busy, such as 0:3g@4,1:1g@6");
  cmd.heading("");
  if (changes)
    cmd.flag("--adopt", adopt, "take over instances that smartmig did not create")
        .flag("--allow-mode-change", allow_mode_change, "switch the MIG mode if the configuration requires it")
        .option("--patience-s", patience_s, "SECONDS", "seconds to retry while a slice is in use");
  cmd.flag("--json", json, "print JSON");
}

void ConfigOptions::declare(Command& cmd, const char* mode_only_help) {
  cmd.heading("Partition");
  cmd.notes("The short flags of nvidia-mig-parted work too: -f, -c, -m, -a, -s, -k.\n");
  cmd.option("--config-file", file, "FILE", "configuration file of mig-parted, YAML or JSON; - is standard input")
      .also("-f")
      .env("MIG_PARTED_CONFIG_FILE")
      .option("--selected-config", label, "NAME", "name of the configuration in the file")
      .also("-c")
      .env("MIG_PARTED_SELECTED_CONFIG")
      .flag("--mode-only", mode_only, mode_only_help)
      .also("-m")
      .env("MIG_PARTED_MODE_CHANGE_ONLY")
      .option("--to", to, "SHAPE", "shape (4g+2g+1g) or layout (4g@0+3g@4), instead of a file")
      .option("--gpus", gpus, "LIST", "with --to: change only these GPUs, such as 0,3")
      .also("--gpu");
  cmd.heading("");
}

Result<MigConfig> selected(const ConfigOptions& options) {
  if (options.file.empty())
    return invalid("a configuration is missing: --config-file FILE --selected-config NAME, or --to SHAPE");
  const auto read = read_mig_config(options.file);
  if (!read) return of_file(read.error());
  const MigConfigFile& file = *read;
  std::vector<std::string> labels;
  for (const MigConfig& config : file.configs) labels.push_back(config.label);
  const MigConfig* config = options.label.empty() && labels.size() == 1 ? &file.configs[0] : file.find(options.label);
  if (!config)
    return invalid("{} has no configuration '{}'; --selected-config takes one of: {}", options.file, options.label,
                   fmt::join(labels, ", "));
  return *config;
}

Result<WantedPartition> wanted(const ConfigOptions& options, const Situation& situation) {
  if (!options.to.empty()) {
    if (!options.file.empty()) return invalid("give either --config-file FILE or --to SHAPE");
    WantedPartition all;
    std::vector<std::size_t> chosen;
    if (options.gpus.empty())
      for (std::size_t i = 0; i < situation.boards.size(); ++i) chosen.push_back(i);
    else
      for (std::string_view item : split(options.gpus, ',')) {
        const auto index = parse_int(trim(item));
        if (!index || *index < 0 || *index >= std::int64_t(situation.boards.size()))
          return invalid("--gpus: '{}' is not a GPU of this machine, which has {}", item, situation.boards.size());
        chosen.push_back(std::size_t(*index));
      }
    for (std::size_t i : chosen) {
      SMARTMIG_TRY(const Desired desired, desired_of(situation.boards[i], options.to));
      all.gpus.push_back(desired);
    }
    return all;
  }
  SMARTMIG_TRY(const MigConfig config, selected(options));
  return desired_of(config, situation.boards);
}

std::vector<GpuChange> changes(const WantedPartition& wanted, const Situation& situation, bool adopt, bool mode_only) {
  std::vector<GpuChange> list;
  for (const Desired& one : wanted.gpus)
    list.push_back(change_for(one, situation.boards[index(one.gpu)], situation.busy[index(one.gpu)], adopt, mode_only));
  return list;
}

Time predicted(const GpuChange& change) {
  Time total = change.plan.predicted;
  for (const DivideStep& step : change.divide) total += step.predicted;
  return total;
}

Layout kept(const GpuChange& change) {
  Layout layout = change.plan.move.keep;
  for (const DivideStep& step : change.divide) layout = layout.without(step.placement);
  return layout;
}

bool nothing_to_do(const GpuChange& change) {
  return !change.mode && change.plan.steps.empty() && change.divide.empty();
}

void ConfigOutput::declare(Command& cmd, const char* file_alias) {
  cmd.option("--output-format", format, "FORMAT", "yaml or json").env("MIG_PARTED_OUTPUT_FORMAT");
  const auto take = [this](std::string_view value) -> Result<Ok> {
    (value == "json" || value == "yaml" ? format : file) = std::string(value);
    return Ok{};
  };
  cmd.option("--output", Command::Setter(take), "FILE",
             "write to this file; as in mig-parted, -o json and -o yaml set the format instead")
      .alias("-o")
      .also("--output-file");
  if (*file_alias) cmd.also(file_alias).env("MIG_PARTED_OUTPUT_FILE");
}

Result<Ok> ConfigOutput::check() const {
  if (format == "json" || format == "yaml") return Ok{};
  return invalid("--output-format is yaml or json, not '{}'; --output FILE writes into a file", format);
}

int ConfigOutput::write(const MigConfigFile& config, bool json) const {
  const std::string text = json || format == "json" ? to_json(config) : to_yaml(config);
  if (file.empty()) {
    fmt::print("{}", text);
    return 0;
  }
  const auto written = write_file(file, text);
  return written ? 0 : failure(written.error());
}

std::string change_text(const GpuChange& change, const GpuBoard& board) {
  std::string out;
  if (!change.refusal.empty()) return fmt::format("refused: {}\n", change.refusal);
  if (nothing_to_do(change))
    return fmt::format(
        "{}: stays {}\n", title(board),
        board.mode == MigMode::kOn && board.model ? to_string(*board.model, board.layout) : "with MIG off");
  const GpuModel& model = *board.model;
  out +=
      fmt::format("{}: {} -> {}\n", title(board), to_string(model, change.plan.from), to_string(model, change.plan.to));
  if (change.mode && *change.mode) out += "  mode     MIG on\n";
  for (PlacementId p : kept(change)) out += fmt::format("  keep     {}\n", slice_name(model, p));
  for (const ReshapeStep& step : change.plan.steps)
    out += fmt::format("  {:<8} {:<16} {:.2f} s\n", step.operation.kind == Operation::kCreate ? "create" : "destroy",
                       slice_name(model, step.operation.placement), seconds(step.predicted));
  for (const DivideStep& step : change.divide)
    out += fmt::format("  {:<8} {:<16} {:.2f} s, into {}\n", "divide", slice_name(model, step.placement),
                       seconds(step.predicted), to_string(step.into));
  if (change.mode && !*change.mode) out += "  mode     MIG off\n";
  return out;
}

std::string mark(const MigDriver& driver) {
  return driver.isolated() ? "" : " (soft slices by MPS: not isolated from each other)";
}

}  // namespace smartmig::cli
