// smartmig plan: what apply would do, with seconds; nothing is changed.
#include "cli/gpus/plan.h"

#include <fmt/format.h>

#include "base/json.h"
#include "cli/gpus/gpu_options.h"
#include "cli/gpus/machine.h"
#include "cli/verbs.h"

namespace smartmig::cli {

using OrderedJson = nlohmann::ordered_json;

nlohmann::ordered_json change_json(const GpuChange& change, const GpuBoard& board) {
  OrderedJson json{{"gpu", board.index}, {"uuid", board.uuid}};
  json["mode"] = change.mode ? OrderedJson(*change.mode ? "on" : "off") : OrderedJson();
  json["from"] = board.model ? OrderedJson(to_string(*board.model, change.plan.from)) : OrderedJson();
  json["to"] = board.model ? OrderedJson(to_string(*board.model, change.plan.to)) : OrderedJson();
  json["refused"] = change.refusal.empty() ? OrderedJson() : OrderedJson(change.refusal);
  for (const char* key : {"keep", "destroy", "create"}) json[key] = OrderedJson::array();
  if (change.refusal.empty() && board.model) {
    for (PlacementId p : kept(change)) json["keep"].push_back(slice_name(*board.model, p));
    for (const ReshapeStep& step : change.plan.steps)
      json[step.operation.kind == Operation::kCreate ? "create" : "destroy"].push_back(
          {{"slice", slice_name(*board.model, step.operation.placement)}, {"seconds", seconds(step.predicted)}});
  }
  for (const DivideStep& step : change.divide)
    json["divide"].push_back({{"slice", slice_name(*board.model, step.placement)},
                              {"compute_slices", step.into},
                              {"seconds", seconds(step.predicted)}});
  json["seconds"] = seconds(predicted(change));
  return json;
}

int run_plan(const Arguments& arguments) {
  GpuOptions options;
  ConfigOptions config;
  Command cmd(
      "mig plan", "",
      "Prints which slices mig apply would destroy, keep and create, and how long that takes. It changes nothing.",
      "smartmig mig plan --emulate 1xa100-40gb --to 4g+2g+1g");
  config.declare(cmd, "consider only the MIG mode");
  options.declare(cmd, true);
  if (const auto end = cmd.ends(arguments)) return *end;
  auto machine = Machine::open(options, false);
  if (!machine)
    return machine.error().code == Error::kInvalid ? usage_error(machine.error()) : failure(machine.error());
  const auto situation = look(machine->driver());
  if (!situation) return failure(situation.error());
  const auto desired = wanted(config, *situation);
  if (!desired) return usage_error(desired.error());
  const auto list = changes(*desired, *situation, options.adopt, config.mode_only);

  nlohmann::ordered_json json{{"driver", machine->driver().name()}, {"isolated", machine->driver().isolated()}};
  json["gpus"] = nlohmann::ordered_json::array();
  std::string text;
  if (!desired->notes.empty()) json["notes"] = desired->notes;
  for (const std::string& note : desired->notes) text += note + "\n";
  Time total{};
  int changed = 0, refused = 0;
  for (const GpuChange& change : list) {
    const GpuBoard& board = situation->boards[index(change.gpu)];
    text += change_text(change, board);
    json["gpus"].push_back(change_json(change, board));
    refused += !change.refusal.empty();
    if (!change.refusal.empty()) continue;
    changed += !nothing_to_do(change);
    total += predicted(change);
    if (change.mode && !options.allow_mode_change)
      text += fmt::format("  GPU {} needs a change of MIG mode: add --allow-mode-change to apply\n", board.index);
  }
  json["seconds"] = seconds(total);
  if (options.json)
    fmt::print("{}\n", json_dump(json, 1));
  else
    fmt::print(
        "{}{} of {} GPUs change, {:.2f} s predicted, one call after another{}; slices that stay "
        "keep running{}.\n",
        text, changed, situation->boards.size(), seconds(total),
        refused > 0 ? fmt::format("; {} refused", refused) : "", mark(machine->driver()));
  return refused > 0 ? 1 : 0;
}

}  // namespace smartmig::cli
