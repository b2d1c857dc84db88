// mig-parted's configurations as YAML and JSON: what parse_mig_config() reads back to the same.
#include "base/json.h"
#include "live/gpu/mig_config.h"

namespace smartmig {

std::string to_yaml(const MigConfigFile& file) {
  std::string out = "version: v1\nmig-configs:\n";
  for (const MigConfig& config : file.configs) {
    out += fmt::format("  {}:\n", json_text(config.label));
    for (const MigConfigEntry& e : config.entries) {
      std::vector<std::string> lines;
      if (!e.filter.empty()) {
        std::vector<std::string> ids;
        for (const std::string& id : e.filter) ids.push_back(json_text(id));
        lines.push_back(fmt::format("device-filter: [{}]", fmt::join(ids, ", ")));
      }
      lines.push_back(e.all_devices ? "devices: all" : fmt::format("devices: [{}]", fmt::join(e.devices, ", ")));
      lines.push_back(fmt::format("mig-enabled: {}", e.mig_enabled));
      if (e.mig_enabled) {
        lines.push_back(e.mig_devices.empty() ? "mig-devices: {}" : "mig-devices:");
        for (const auto& [profile, count] : e.mig_devices)
          lines.push_back(fmt::format("  {}: {}", json_text(profile), count));
      }
      if (!e.placements.empty()) {
        std::vector<std::string> places;
        for (const std::string& p : e.placements) places.push_back(json_text(p));
        lines.push_back(fmt::format("mig-placements: [{}]", fmt::join(places, ", ")));
      }
      for (std::size_t i = 0; i < lines.size(); ++i) out += fmt::format("    {} {}\n", i == 0 ? "-" : " ", lines[i]);
    }
  }
  return out;
}

std::string to_json(const MigConfigFile& file) {
  nlohmann::ordered_json json{{"version", "v1"}, {"mig-configs", nlohmann::ordered_json::object()}};
  for (const MigConfig& config : file.configs) {
    auto& list = json["mig-configs"][config.label] = nlohmann::ordered_json::array();
    for (const MigConfigEntry& e : config.entries) {
      nlohmann::ordered_json item = nlohmann::ordered_json::object();
      if (!e.filter.empty()) item["device-filter"] = e.filter;
      item["devices"] = e.all_devices ? nlohmann::ordered_json("all") : nlohmann::ordered_json(e.devices);
      item["mig-enabled"] = e.mig_enabled;
      if (e.mig_enabled) {
        item["mig-devices"] = nlohmann::ordered_json::object();
        for (const auto& [profile, count] : e.mig_devices) item["mig-devices"][profile] = count;
      }
      if (!e.placements.empty()) item["mig-placements"] = e.placements;
      list.push_back(std::move(item));
    }
  }
  return json_dump(json, 1) + "\n";
}

}  // namespace smartmig
