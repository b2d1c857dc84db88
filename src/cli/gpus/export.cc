// smartmig export: the present partition as a configuration file. `export --onnx` belongs to the trained policies.
#include <fmt/format.h>

#include "cli/gpus/gpu_options.h"
#include "cli/gpus/machine.h"
#include "cli/program/research.h"
#include "cli/verbs.h"
#include "live/gpu/mig_config.h"

namespace smartmig::cli {
namespace {

int export_partition(const Arguments& arguments) {
  GpuOptions options;
  ConfigOutput output;
  std::string label = "current";
  bool placements = false;
  Command cmd("mig export", "",
              "Prints the current partition as a mig-parted configuration. It changes nothing.\n"
              "With --onnx POLICY, it writes a trained policy as an ONNX model; see smartmig export --onnx --help.\n"
              "With --journal, it writes the daemon's journal as JSON lines; see smartmig export --journal --help.\n"
              "With --html FILE, it writes a page that plays a recorded day; see smartmig export --html --help.",
              "smartmig mig export --emulate 8xa100-40gb --state machine --placements");
  cmd.option("--config-label", label, "NAME", "name of the configuration")
      .also("-l")
      .also("-c")
      .env("MIG_PARTED_CONFIG_LABEL");
  output.declare(cmd, "");
  cmd.flag("--placements", placements, "also write the placement of each instance, which mig-parted cannot read");
  options.declare(cmd, false);
  if (const auto end = cmd.ends(arguments)) return *end;
  if (const auto known = output.check(); !known) return usage_error(known.error());
  auto machine = Machine::open(options, false);
  if (!machine)
    return machine.error().code == Error::kInvalid ? usage_error(machine.error()) : failure(machine.error());
  const auto boards = machine->driver().inventory();
  if (!boards) return failure(boards.error());
  for (const GpuBoard& board : *boards)
    if (!board.trouble.empty()) return failure(invalid("{}: {}", title(board), board.trouble));
  const MigConfigFile file{{exported(*boards, label, placements)}};
  return output.write(file, options.json);
}

}  // namespace

int run_export(const Arguments& arguments) {
  for (const std::string& argument : arguments)
    if (argument == "--onnx" || argument.starts_with("--onnx="))
      return become_research("export", arguments);
    else if (argument == "--journal")
      return run_export_journal(arguments);
    else if (argument == "--html" || argument.starts_with("--html="))
      return run_export_html(arguments);
  return export_partition(arguments);
}

}  // namespace smartmig::cli
