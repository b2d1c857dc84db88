#include "ctl_show.h"

#include <nlohmann/json.hpp>

#include "machine_init.h"

namespace smartmig::nvsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFaults[] = {"in-use-lag",     "fail",        "slow",         "hang",
                                   "wrong-readback", "create-lies", "destroy-lies", "gpu-lost",
                                   "leaked-handle",  "xid",         "ecc",          "stuck-memory"};

Json process_json(const State& state, const Process& process) {
  Json out{{"pid", process.owner.pid},
           {"gpu", process.gpu},
           {"kind", process.kind},
           {"active", process.active != 0},
           {"memory_mib", process.memory >> 20}};
  if (process.stuck) out["dead"] = true;
  if (const auto* ci = find_compute_instance(state, process.gpu, process.compute_instance)) {
    out["gpu_instance"] = find_gpu_instance(state, process.gpu, ci->gpu_instance)->id;
    out["compute_instance"] = ci->id;
  }
  return out;
}

Json board_json(Machine& machine, const State& state, int index) {
  const Gpu& gpu = state.gpus[index];
  Json out{{"index", index},
           {"model", gpu.model},
           {"uuid", "GPU-" + uuid_text(gpu.uuid)},
           {"mig", gpu.mig_current != 0},
           {"mig_pending", gpu.mig_pending != 0},
           {"lost", gpu.lost != 0},
           {"power_model", gpu.power},
           {"power_w", gpu.watts},
           {"limit_w", gpu.limit_mw / 1000.0},
           {"energy_j", double(machine.energy_uj(state, index)) / 1e6},
           {"memory_used_mib", machine.memory_used(state, index, nullptr) >> 20},
           {"gpu_instances", Json::array()}};
  for (const GpuInstance& gi : gpu.gpu_instances) {
    if (gi.generation == 0) continue;
    const Board& board = machine.board(index);
    Json instance{{"id", gi.id},
                  {"profile", board.profile(gi.profile).name},
                  {"profile_id", board.id_of(gi.profile)},
                  {"start", gi.start},
                  {"size", board.profile(gi.profile).memory_slices},
                  {"memory_mib", board.memory_mib(gi.profile)},
                  {"compute_instances", Json::array()}};
    for (const ComputeInstance& ci : gpu.compute_instances)
      if (ci.generation != 0 && ci.gpu_instance == gi.generation)
        instance["compute_instances"].push_back({{"id", ci.id},
                                                 {"uuid", "MIG-" + uuid_text(ci.uuid)},
                                                 {"index", ci.mig_index},
                                                 {"slices", ci.slices},
                                                 {"sms", ci.sms}});
    out["gpu_instances"].push_back(std::move(instance));
  }
  return out;
}

Json to_json(Machine& machine) {
  machine.refresh();
  Json out{{"directory", machine.store().directory()},
           {"clock", clock_mode_name(machine.store().clock_mode())},
           {"now_s", double(machine.store().now()) / 1e6},
           {"requires_root", machine.store().header().require_root != 0},
           {"gpus", Json::array()},
           {"processes", Json::array()},
           {"holders", Json::array()},
           {"faults", Json::array()}};
  machine.read([&](const State& state) {
    for (int gpu = 0; gpu < state.gpu_count; ++gpu) out["gpus"].push_back(board_json(machine, state, gpu));
    for (const Process& process : state.processes)
      if (process.owner.pid != 0) out["processes"].push_back(process_json(state, process));
    for (const Holder& holder : state.holders)
      if (holder.owner.pid != 0) {
        const auto* gi = find_gpu_instance(state, holder.gpu, holder.gpu_instance);
        out["holders"].push_back(
            {{"pid", holder.owner.pid}, {"gpu", holder.gpu}, {"gpu_instance", gi ? Json(gi->id) : Json()}});
      }
    for (const Fault& fault : state.faults)
      if (fault.kind != 0)
        out["faults"].push_back(
            {{"kind", fault_name(fault.kind)},
             {"gpu", fault.gpu < 0 ? Json("all") : Json(fault.gpu)},
             {"count", fault.count == NVML_SIM_UNTIL_CLEARED ? Json("until cleared") : Json(fault.count)},
             {"code", fault.code},
             {"delay_ms", double(fault.delay_us) / 1000},
             {"call", fault.call}});
  });
  return out;
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

}  // namespace

const char* fault_name(std::uint32_t kind) {
  return kind >= 1 && kind <= std::size(kFaults) ? kFaults[kind - 1] : nullptr;
}
std::uint32_t fault_named(std::string_view name) {
  for (std::uint32_t i = 0; i < std::size(kFaults); ++i)
    if (kFaults[i] == name) return i + 1;
  return 0;
}

std::string show_json(Machine& machine) { return to_json(machine).dump(2) + "\n"; }

std::string show_text(Machine& machine) {
  const Json all = to_json(machine);
  std::string out = fmt::format("{}: {} GPUs, {} clock at {:.3f} s\n", text_of(all["directory"]), all["gpus"].size(),
                                text_of(all["clock"]), all["now_s"].get<double>());
  for (const Json& gpu : all["gpus"]) {
    out += fmt::format(
        "GPU {} {} {}  MIG {}{}{}  {:.1f} W of {:.0f} W  {:.1f} J  {} MiB used\n", text_of(gpu["index"]),
        text_of(gpu["model"]), text_of(gpu["uuid"]), gpu["mig"].get<bool>() ? "on" : "off",
        gpu["mig"] != gpu["mig_pending"] ? (gpu["mig_pending"].get<bool>() ? " (on pending)" : " (off pending)") : "",
        gpu["lost"].get<bool>() ? "  LOST" : "", gpu["power_w"].get<double>(), gpu["limit_w"].get<double>(),
        gpu["energy_j"].get<double>(), text_of(gpu["memory_used_mib"]));
    for (const Json& gi : gpu["gpu_instances"]) {
      out += fmt::format("  {} at {}:{}  GPU instance {}\n", text_of(gi["profile"]), text_of(gi["start"]),
                         text_of(gi["size"]), text_of(gi["id"]));
      for (const Json& ci : gi["compute_instances"])
        out += fmt::format("    {}  index {}  {} SM\n", text_of(ci["uuid"]), text_of(ci["index"]), text_of(ci["sms"]));
    }
  }
  for (const Json& process : all["processes"])
    out += fmt::format(
        "process {} on GPU {}{}: {}, {} MiB{}\n", text_of(process["pid"]), text_of(process["gpu"]),
        process.contains("gpu_instance") ? fmt::format(" instance {}", text_of(process["gpu_instance"])) : "",
        process["kind"] == "" ? "no kind" : text_of(process["kind"]), text_of(process["memory_mib"]),
        process["active"].get<bool>() ? "" : ", idle");
  for (const Json& holder : all["holders"])
    out += fmt::format(
        "process {} holds GPU {}{}\n", text_of(holder["pid"]), text_of(holder["gpu"]),
        holder["gpu_instance"].is_null() ? "" : fmt::format(" instance {}", text_of(holder["gpu_instance"])));
  for (const Json& fault : all["faults"])
    out += fmt::format("fault {} on GPU {}, count {}, {} ms, code {}, calls {}*\n", text_of(fault["kind"]),
                       text_of(fault["gpu"]), text_of(fault["count"]), text_of(fault["delay_ms"]),
                       text_of(fault["code"]), text_of(fault["call"]));
  return out;
}

}  // namespace smartmig::nvsim
