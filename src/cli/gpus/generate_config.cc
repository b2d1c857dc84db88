// smartmig generate-config: a configuration file with the usual partitions of the GPUs that are there.
#include <fmt/format.h>

#include "base/file.h"
#include "cli/gpus/gpu_options.h"
#include "cli/gpus/machine.h"
#include "cli/verbs.h"

namespace smartmig::cli {

int run_generate_config(const Arguments& arguments) {
  GpuOptions options;
  std::string output;
  Command cmd("generate-config", "",
              "Prints a mig-parted file for the GPUs of this machine: all-disabled, all-enabled, all-PROFILE and "
              "all-balanced.",
              "smartmig generate-config --emulate 1xh200-141gb");
  cmd.option("--output-file", output, "FILE", "write there instead of printing").alias("-o");
  options.declare(cmd, false);
  const auto parsed = cmd.parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;
  auto machine = Machine::open(options, false);
  if (!machine)
    return machine.error().code == Error::kInvalid ? usage_error(machine.error()) : failure(machine.error());
  const auto boards = machine->driver().inventory();
  if (!boards) return failure(boards.error());
  const MigConfigFile file = generated(*boards);
  if (file.configs.size() <= 2) return failure(unsupported("no GPU of this machine is in the catalogue of MIG models"));
  const std::string text = options.json ? to_json(file) : to_yaml(file);
  if (output.empty())
    fmt::print("{}", text);
  else if (auto written = write_file(output, text); !written)
    return failure(written.error());
  return 0;
}

}  // namespace smartmig::cli
