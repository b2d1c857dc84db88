// smartmig apply: makes the machine's partition what a configuration says, around what runs.
#include <fmt/format.h>

#include "base/json.h"
#include "cli/gpus/gpu_options.h"
#include "cli/gpus/machine.h"
#include "cli/gpus/plan.h"
#include "cli/verbs.h"
#include "live/gpu/reshaper.h"

namespace smartmig::cli {
namespace {

struct Applied {
  bool ok = true;
  std::string words;
  int calls = 0;
};

// Mode on, reshape, divide, mode off: each only where asked for.
Applied carry_out(MigDriver& driver, Reshaper& reshaper, const GpuChange& change, const GpuBoard& board) {
  const auto failed = [&](const Error& error) { return Applied{false, error.what, 0}; };
  if (change.mode && *change.mode)
    if (auto set = driver.set_mig_mode(change.gpu, true); !set) return failed(set.error());
  Applied applied;
  if (!change.plan.steps.empty() || board.instances.size() != std::size_t(board.layout.size())) {
    const auto outcome = reshaper.execute(change.gpu, change.plan);
    if (!outcome) return failed(outcome.error());
    applied.calls = outcome->calls;
    if (outcome->kind != ReshapeOutcome::kDone) return {false, outcome->words, outcome->calls};
  }
  for (const DivideStep& step : change.divide) {
    const auto now = driver.read(change.gpu);
    if (!now) return {false, now.error().what, applied.calls};
    const Instance* instance = find_instance(*now, step.placement);
    if (!instance)
      return {false, fmt::format("{} does not exist, so it cannot be divided", slice_name(*now->model, step.placement)),
              applied.calls};
    ++applied.calls;
    if (auto divided = driver.divide(change.gpu, *instance, step.into); !divided)
      return {false, divided.error().what, applied.calls};
  }
  if (change.mode && !*change.mode)
    if (auto set = driver.set_mig_mode(change.gpu, false); !set) return failed(set.error());
  return applied;
}

}  // namespace

int run_apply(const Arguments& arguments) {
  GpuOptions options;
  ConfigOptions config;
  std::string hooks;
  bool skip_reset = false;
  Command cmd(
      "mig apply", "",
      "Changes the partition to match a configuration. Busy slices stay; if the configuration leaves no room for them, nothing changes on that GPU. After a crash, the next start completes or undoes the change.",
      "smartmig mig apply --config-file config.yaml --selected-config all-balanced --emulate 8xa100-40gb --state machine");
  config.declare(cmd, "change only the MIG mode");
  options.declare(cmd, true);
  cmd.flag("--skip-reset", skip_reset, "accepted without effect: smartmig never resets a GPU")
      .also("-s")
      .env("MIG_PARTED_SKIP_RESET");
  cmd.option("--hooks-file", hooks, "FILE", "refused, because smartmig runs no hooks")
      .also("-k")
      .env("MIG_PARTED_HOOKS_FILE");
  if (const auto end = cmd.ends(arguments)) return *end;
  if (!hooks.empty())
    return usage_error(unsupported(
        "--hooks-file {}: smartmig runs no hooks; stop and restart the programs that use the GPUs yourself, and leave out this option and MIG_PARTED_HOOKS_FILE",
        hooks));
  auto machine = Machine::open(options, true);
  if (!machine)
    return machine.error().code == Error::kInvalid ? usage_error(machine.error()) : failure(machine.error());
  MigDriver& driver = machine->driver();
  auto reshaper = Reshaper::open(driver, machine->state_dir());
  if (!reshaper) return failure(reshaper.error());
  const auto recovered = reshaper->recover();
  if (!recovered) return failure(recovered.error());
  const auto situation = look(driver);
  if (!situation) return failure(situation.error());
  const auto desired = wanted(config, *situation);
  if (!desired) return usage_error(desired.error());
  auto list = changes(*desired, *situation, options.adopt, config.mode_only);
  for (GpuChange& change : list)
    if (change.mode && change.refusal.empty() && !options.allow_mode_change)
      change.refusal = fmt::format("{}: MIG mode must be switched {}; add --allow-mode-change",
                                   title(situation->boards[index(change.gpu)]), *change.mode ? "on" : "off");

  nlohmann::ordered_json json{{"driver", driver.name()}, {"isolated", driver.isolated()}, {"recovered", *recovered}};
  json["gpus"] = nlohmann::ordered_json::array();
  std::string text;
  for (const std::string& words : *recovered) text += words + "\n";
  if (!desired->notes.empty()) json["notes"] = desired->notes;
  for (const std::string& note : desired->notes) text += note + "\n";
  int done = 0, failed = 0;
  for (const GpuChange& change : list) {
    const GpuBoard& board = situation->boards[index(change.gpu)];
    Applied applied{change.refusal.empty(), change.refusal, 0};
    const bool nothing = nothing_to_do(change) && board.instances.size() == std::size_t(board.layout.size());
    if (applied.ok && !nothing) applied = carry_out(driver, *reshaper, change, board);
    text += change_text(change, board);
    if (!applied.ok && change.refusal.empty()) text += fmt::format("  failed: {}\n", applied.words);
    auto one = change_json(change, board);
    one["ok"] = applied.ok;
    one["calls"] = applied.calls;
    one["words"] = applied.words;
    json["gpus"].push_back(std::move(one));
    done += applied.ok && !nothing;
    failed += !applied.ok;
  }
  if (options.json)
    fmt::print("{}\n", json_dump(json, 1));
  else
    fmt::print("{}{} of {} GPUs changed{}{}.\n", text, done, situation->boards.size(),
               failed > 0 ? fmt::format(", {} failed", failed) : "", mark(driver));
  return failed > 0 ? 1 : 0;
}

}  // namespace smartmig::cli
