// The file of a FakeDriver: what a GPU keeps when the program that drives it dies.
#include <nlohmann/json.hpp>

#include "mig/shape.h"
#include "support/fake_driver.h"

namespace smartmig {

std::string FakeDriver::save() const {
  nlohmann::ordered_json json;
  json["machine"] = spec_;
  json["clock_us"] = now_.count();
  json["made"] = made_;
  for (const Gpu& gpu : gpus_) {
    nlohmann::ordered_json g{{"mig", gpu.mig_on}, {"energy_j", gpu.joules}};
    g["instances"] = nlohmann::ordered_json::array();
    for (const Instance& i : gpu.instances)
      g["instances"].push_back({{"slice", slice_name(*gpu.model, i.placement)},
                                {"gi", i.gpu_instance},
                                {"ci", i.compute_instance},
                                {"uuid", i.uuid},
                                {"ours", i.ours}});
    g["processes"] = nlohmann::ordered_json::array();
    for (const DeviceProcess& p : gpu.processes)
      g["processes"].push_back(
          {{"pid", p.pid}, {"gi", p.gpu_instance}, {"name", p.name}, {"memory_mib", p.memory_mib}});
    json["gpus"].push_back(std::move(g));
  }
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<Ok> FakeDriver::load(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return invalid("{}: {}; remove the file to start a new machine", options_.file, why);
  };
  const auto json = nlohmann::json::parse(text, nullptr, false);
  try {
    if (json.is_discarded()) return bad("not JSON");
    if (json.at("machine").get<std::string>() != spec_)
      return bad(fmt::format("holds {}, not {}", json.at("machine").get<std::string>(), spec_));
    now_ = Time(json.at("clock_us").get<std::int64_t>());
    made_ = json.at("made").get<std::uint64_t>();
    if (json.at("gpus").size() != gpus_.size()) return bad("another number of GPUs");
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const auto& g = json.at("gpus")[i];
      Gpu& gpu = gpus_[i];
      gpu.mig_on = g.at("mig").get<bool>();
      gpu.joules = g.at("energy_j").get<double>();
      Layout layout;
      for (const auto& entry : g.at("instances")) {
        auto one = parse_layout(*gpu.model, entry.at("slice").get<std::string>());
        if (!one) return bad(one.error().what);
        if (one->size() != 1) return bad("an entry that is not one slice");
        Instance instance;
        instance.placement = *one->begin();
        const auto next = gpu.model->with(layout, instance.placement);
        if (!next) return bad("slices that cannot stand together");
        layout = *next;
        instance.gpu_instance = entry.at("gi").get<int>();
        instance.compute_instance = entry.at("ci").get<int>();
        instance.uuid = entry.at("uuid").get<std::string>();
        instance.ours = entry.at("ours").get<bool>();
        instance.memory_mib = gpu.model->profile_of(instance.placement).memory_mib;
        gpu.instances.push_back(std::move(instance));
      }
      for (const auto& p : g.at("processes"))
        gpu.processes.push_back({p.at("pid").get<std::uint32_t>(), p.at("gi").get<int>(),
                                 p.at("name").get<std::string>(), p.at("memory_mib").get<int>()});
    }
  } catch (const nlohmann::json::exception& e) {
    return bad(e.what());
  }
  return Ok{};
}

}  // namespace smartmig
