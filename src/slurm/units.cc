#include "slurm/units.h"

#include <algorithm>

#include "base/text.h"

namespace smartmig {

std::map<std::string, UnitProfile> unit_profiles(std::span<const std::shared_ptr<const GpuModel>> models) {
  std::map<std::string, UnitProfile> out;
  for (const auto& model : models)
    for (std::size_t i = 0; i < model->profiles().size(); ++i) {
      if (!(model->schedulable_profiles() >> i & 1)) continue;
      const Profile& profile = model->profiles()[i];
      const UnitProfile here{profile.memory_slices, profile.memory_mib, profile.compute_slices};
      const auto [at, added] = out.emplace(profile.name, here);
      if (added) continue;
      at->second.units = std::min(at->second.units, here.units);
      at->second.mem_mib = std::min(at->second.mem_mib, here.mem_mib);
      at->second.compute_slices = std::min(at->second.compute_slices, here.compute_slices);
    }
  return out;
}

int units_of_gpus(std::span<const std::shared_ptr<const GpuModel>> gpus) {
  int units = 0;
  for (const auto& gpu : gpus) units += gpu->memory_slices();
  return units;
}

std::string units_lua(const SlurmSite& site) {
  const auto profiles = unit_profiles(site.models);
  int most = 0, most_mem = 0;
  std::string rows, example;
  for (const auto& [name, profile] : profiles) {
    rows += fmt::format("    [\"{}\"] = {{ units = {}, mem = {}, slices = {} }},\n", name, profile.units,
                        profile.mem_mib, profile.compute_slices);
    most = std::max(most, profile.units);
    most_mem = std::max(most_mem, profile.mem_mib);
    if (profile.compute_slices == 3) example = name;
  }
  if (example.empty() && !profiles.empty()) example = profiles.begin()->first;
  std::string partitions, operators = "[0] = true";
  for (const std::string& name : site.partitions)
    partitions += fmt::format("{}[\"{}\"] = true", partitions.empty() ? "" : ", ", name);
  for (const std::uint32_t uid : site.operators)
    if (uid != 0) operators += fmt::format(", [{}] = true", uid);
  // The word before a gres in a job's request; 22.05 to 23.02 write it with a colon.
  const auto dot = site.version.find('.');
  const auto year = parse_int(std::string_view(site.version).substr(0, dot)).value_or(22);
  const auto month =
      dot == std::string::npos ? 0 : parse_int(std::string_view(site.version).substr(dot + 1, 2)).value_or(0);
  const bool slash = year > 23 || (year == 23 && month >= 11);
  return fmt::format(
      "-- Written by `smartmig slurm config`: what the slices of this cluster hold, for job_submit.lua.\n"
      "return {{\n  partitions = {{ {} }},\n  operators = {{ {} }}, -- users whose changes of jobs are not checked\n"
      "  gres_prefix = \"gres{}\",\n  most = {}, -- units of the largest slice\n  most_mem = {}, -- MiB\n"
      "  example = \"{}\",\n  profiles = {{\n{}  }},\n}}\n",
      partitions, operators, slash ? "/" : ":", most, most_mem, example, rows);
}

}  // namespace smartmig
