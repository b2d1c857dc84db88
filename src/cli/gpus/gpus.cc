// smartmig gpus: the boards of a machine, their slices, what is busy, how fragmented they are.
#include <fmt/format.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/gpus/gpu_options.h"
#include "cli/gpus/machine.h"
#include "cli/queue/daemon_gpus.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "live/energy/power_fit.h"
#include "live/gpu/quarantine.h"
#include "mig/fragmentation.h"
#include "model/power.h"
#include "queue/config/places.h"

namespace smartmig::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

const char* mode_name(MigMode mode) { return mode == MigMode::kOn ? "on" : mode == MigMode::kOff ? "off" : "none"; }

std::string reading(const Result<double>& value) { return value ? fmt::format("{:.0f}", *value) : "-"; }

struct GpuRow {
  Fragmentation fragmentation;
  Result<double> watts{0.0}, joules{0.0};
};

OrderedJson board_json(const GpuBoard& board, const std::vector<DeviceProcess>& processes, const GpuRow& row) {
  OrderedJson json{
      {"index", board.index},           {"uuid", board.uuid},
      {"product", board.product},       {"bus_id", board.bus_id},
      {"pci_id", board.pci_id},         {"model", board.model ? OrderedJson(board.model->name()) : OrderedJson()},
      {"mig", mode_name(board.mode)},   {"mig_pending", mode_name(board.pending)},
      {"memory_mib", board.memory_mib}, {"used_mib", board.used_mib}};
  json["power_w"] = row.watts ? OrderedJson(*row.watts) : OrderedJson();
  json["energy_j"] = row.joules ? OrderedJson(*row.joules) : OrderedJson();
  json["trouble"] = board.trouble.empty() ? OrderedJson() : OrderedJson(board.trouble);
  json["notes"] = board.notes;
  json["layout"] = board.model ? OrderedJson(to_string(*board.model, board.layout)) : OrderedJson();
  json["fragmentation"] = row.fragmentation.score;
  json["largest_free_slices"] = row.fragmentation.largest_free;
  json["slices"] = OrderedJson::array();
  for (const Instance& i : board.instances) {
    OrderedJson pids = OrderedJson::array();
    for (const DeviceProcess& p : processes)
      if (p.gpu_instance == i.gpu_instance) pids.push_back(p.pid);
    json["slices"].push_back(
        {{"slice", i.placement == kNoPlacement ? "?" : slice_name(*board.model, i.placement)},
         {"gpu_instance", i.gpu_instance},
         {"compute_instance", i.compute_instance < 0 ? OrderedJson() : OrderedJson(i.compute_instance)},
         {"uuid", i.uuid},
         {"memory_mib", i.memory_mib},
         {"used_mib", i.used_mib},
         {"ours", i.ours},
         {"pids", pids}});
    for (const ComputePart& part : i.parts)
      json["slices"].back()["parts"].push_back(
          {{"compute_instance", part.id}, {"compute_slices", part.slices}, {"uuid", part.uuid}});
  }
  return json;
}

std::string heal_text(const GpuBoard& board, const Fragmentation& f) {
  std::vector<std::string> moves;
  for (const auto& [from, to] : f.moves)
    moves.push_back(fmt::format("{} at {}", slice_name(*board.model, from), board.model->placement(to).start));
  return fmt::format("GPU {}: fragmentation {:.2f}; the largest free profile has {} compute slices, or {} with {}\n",
                     board.index, f.score, f.largest_free, f.largest_if_packed, fmt::join(moves, ", "));
}

// What a program needs in its environment to run on one slice: "0:3g@4" or a UUID.
int print_environment(MigDriver& driver, const Situation& situation, const std::string& wanted) {
  for (const GpuBoard& board : situation.boards)
    for (const Instance& found : board.instances) {
      Instance i = found;
      for (const ComputePart& part : found.parts)
        if (part.uuid == wanted) {
          i.uuid = part.uuid;
          i.compute_instance = part.id;
        }
      const bool named = i.uuid == wanted || [&] {
        const auto colon = wanted.find(':');
        if (colon == wanted.npos || wanted.substr(0, colon) != std::to_string(board.index)) return false;
        const auto slice = parse_layout(*board.model, wanted.substr(colon + 1));
        return slice && slice->size() == 1 && slice->contains(i.placement);
      }();
      if (!named || i.placement == kNoPlacement) continue;
      const auto environment = driver.environment(GpuId{std::uint32_t(board.index)}, i, ::getuid());
      if (!environment) return failure(environment.error());
      for (const auto& [name, value] : *environment) fmt::print("{}={}\n", name, value);
      return 0;
    }
  return failure(not_found("there is no slice '{}'; smartmig gpus lists them", wanted));
}

// The watts that `auto` takes for each GPU model, and what the daemon has fitted to the counters of this machine.
std::string power_words(const Situation& situation, const PowerFit& fit, OrderedJson& json) {
  std::string words;
  json["power_models"] = OrderedJson::array();
  std::vector<std::string> seen;
  for (const GpuBoard& board : situation.boards) {
    if (!board.model || std::find(seen.begin(), seen.end(), board.model->name()) != seen.end()) continue;
    const std::string& name = seen.emplace_back(board.model->name());
    const auto power = PowerModel::named("auto", *board.model);
    const auto line = fit.line(name);
    OrderedJson one{{"model", name}};
    one["power"] = power ? OrderedJson(power->name()) : OrderedJson();
    one["rough"] = power && power->rough();
    one["fitted"] = nullptr;
    if (power && power->rough())
      words += fmt::format("power of {}: {} (rough: this model has not been measured)\n", name, power->name());
    if (line) {
      one["fitted"] = {{"idle_w", line->idle_w}, {"base_w", line->base_w},         {"per_slice_w", line->per_slice_w},
                       {"cap_w", line->cap_w},   {"observed_s", line->observed_s}, {"ready", line->ready}};
      words += fmt::format(
          "power of {}: fitted to its counters over {:.1f} h: {:.0f} W idle, {:.0f} W with jobs "
          "plus {:.0f} W per slice{}\n",
          name, line->observed_s / 3600, line->idle_w, line->base_w, line->per_slice_w,
          line->ready ? "" : "; used once there are 24 h of readings");
    }
    json["power_models"].push_back(std::move(one));
  }
  return words;
}

// Nothing: the machine is meant, or no daemon answers and none was named.
std::optional<int> gpus_of_daemon(const Command& cmd, const DaemonOptions& daemon, bool json) {
  for (const char* option : {"--emulate", "--state", "--driver", "--nvml", "--like", "--busy", "--env"})
    if (cmd.given(option)) return std::nullopt;
  const bool named = !daemon.socket.empty() || !daemon.server.empty();
  auto client = daemon.connect();
  if (!client) return named ? std::optional(failure(client.error())) : std::nullopt;
  const auto answer = client->get("/v1/gpus");
  if (!answer) return named ? std::optional(failure(answer.error())) : std::nullopt;
  const auto target = DaemonClient::target(daemon.socket, daemon.server, daemon.token_file, daemon.cacert);
  if (json)
    fmt::print("{}\n", json_dump(*answer, 1));
  else
    fmt::print("{}", daemon_gpus_text(*answer, !target                  ? ""
                                               : target->server.empty() ? target->socket
                                                                        : target->server));
  return 0;
}

}  // namespace

int run_gpus(const Arguments& arguments) {
  GpuOptions options;
  DaemonOptions daemon;
  Command cmd(
      "gpus", "",
      "Lists the GPUs of the running daemon with their slices, jobs, power and energy. Without a daemon, or with an option for the machine, it lists the GPUs of this machine, their MIG slices and which of them are busy. It changes nothing.",
      "smartmig gpus --emulate 2xa100-40gb");
  std::string environment_of;
  options.declare(cmd, false);
  daemon.declare(cmd, false);
  cmd.option("--env", environment_of, "SLICE",
             "print the environment variables for a program on this slice, such as 0:3g@4");
  if (const auto end = cmd.ends(arguments)) return *end;
  if (const auto code = gpus_of_daemon(cmd, daemon, options.json)) return *code;
  auto machine = Machine::open(options, false);
  if (!machine)
    return machine.error().code == Error::kInvalid ? usage_error(machine.error()) : failure(machine.error());
  MigDriver& driver = machine->driver();
  const auto situation = look(driver);
  if (!situation) return failure(situation.error());
  if (!environment_of.empty()) return print_environment(driver, *situation, environment_of);
  const auto quarantine = Quarantine::open(machine->state_dir() + "/quarantine.json");
  if (!quarantine) return failure(quarantine.error());

  Table boards({"gpu", "product", "MIG", "memory MiB", "used MiB", "power W", "energy J", "fragmentation"});
  Table slices({"slice", "GI", "CI", "memory MiB", "used MiB", "made by", "pids", "UUID"});
  OrderedJson json{{"driver", driver.name()}, {"isolated", driver.isolated()}, {"gpus", OrderedJson::array()}};
  std::string words;
  bool any_slice = false;
  for (std::size_t i = 0; i < situation->boards.size(); ++i) {
    const GpuBoard& board = situation->boards[i];
    GpuRow row;
    const GpuId gpu{std::uint32_t(board.index)};
    row.watts = driver.power(gpu);
    row.joules = driver.energy(gpu);
    if (board.model && board.trouble.empty()) {
      row.fragmentation = FragmentationTable(*board.model).of(situation->busy[i]);
      if (row.fragmentation.score > 0) words += heal_text(board, row.fragmentation);
    }
    json["gpus"].push_back(board_json(board, situation->processes[i], row));
    boards.add({std::to_string(board.index), board.product, driver.isolated() ? mode_name(board.mode) : "soft",
                std::to_string(board.memory_mib), std::to_string(board.used_mib), reading(row.watts),
                reading(row.joules), fmt::format("{:.2f}", row.fragmentation.score)});
    for (const Instance& instance : board.instances) {
      any_slice = true;
      std::vector<std::uint32_t> pids;
      for (const DeviceProcess& p : situation->processes[i])
        if (p.gpu_instance == instance.gpu_instance) pids.push_back(p.pid);
      const std::string slice = instance.placement == kNoPlacement ? "?" : slice_name(*board.model, instance.placement);
      const auto add_part = [&](const std::string& name, int ci, const std::string& uuid) {
        slices.add({fmt::format("{}:{}", board.index, name), std::to_string(instance.gpu_instance),
                    ci < 0 ? "-" : std::to_string(ci), std::to_string(instance.memory_mib),
                    std::to_string(instance.used_mib), instance.ours ? "smartmig" : "others",
                    pids.empty() ? "-" : fmt::format("{}", fmt::join(pids, " ")), uuid.empty() ? "-" : uuid});
      };
      if (instance.parts.empty()) add_part(slice, instance.compute_instance, instance.uuid);
      for (const ComputePart& part : instance.parts)
        add_part(fmt::format("{}c.{}", part.slices, slice), part.id, part.uuid);
    }
    if (!board.trouble.empty()) words += fmt::format("GPU {}: {}\n", board.index, board.trouble);
    for (const std::string& note : board.notes) words += fmt::format("GPU {}: {}\n", board.index, note);
  }
  const auto fit = PowerFit::open(machine->state_dir() + "/" + kPowerFitFile);
  if (!fit) return failure(fit.error());
  words += power_words(*situation, *fit, json);
  json["quarantine"] = OrderedJson::array();
  for (const auto& entry : quarantine->entries()) {
    json["quarantine"].push_back({{"gpu", entry.gpu}, {"slice", entry.slice}, {"reason", entry.reason}});
    words +=
        fmt::format("quarantine: {}{}: {}\n", entry.gpu, entry.slice.empty() ? "" : " " + entry.slice, entry.reason);
  }
  if (options.json) {
    fmt::print("{}\n", json_dump(json, 1));
    return 0;
  }
  fmt::print("{} GPUs, driver {}{}\n\n{}", situation->boards.size(), driver.name(), mark(driver), boards.text());
  if (any_slice) fmt::print("\n{}", slices.text());
  if (!words.empty()) fmt::print("\n{}", words);
  return 0;
}

}  // namespace smartmig::cli
