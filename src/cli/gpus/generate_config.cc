// smartmig generate-config: a configuration file with the usual partitions of the GPUs that are there.
#include <fmt/format.h>

#include "cli/gpus/gpu_options.h"
#include "cli/gpus/machine.h"
#include "cli/verbs.h"
#include "live/gpu/mig_config.h"

namespace smartmig::cli {

int run_generate_config(const Arguments& arguments) {
  GpuOptions options;
  ConfigOutput output;
  Command cmd(
      "mig generate-config", "",
      "Prints a mig-parted file for the GPUs of this machine, with the configurations all-disabled, all-enabled, all-PROFILE and all-balanced.",
      "smartmig mig generate-config --emulate 1xh200-141gb");
  output.declare(cmd, "-f");
  options.declare(cmd, false);
  if (const auto end = cmd.ends(arguments)) return *end;
  if (const auto known = output.check(); !known) return usage_error(known.error());
  auto machine = Machine::open(options, false);
  if (!machine)
    return machine.error().code == Error::kInvalid ? usage_error(machine.error()) : failure(machine.error());
  const auto boards = machine->driver().inventory();
  if (!boards) return failure(boards.error());
  const MigConfigFile file = generated(*boards);
  if (file.configs.size() <= 2) return failure(unsupported("none of this machine's GPUs is a known MIG model"));
  return output.write(file, options.json);
}

}  // namespace smartmig::cli
