#include "live/gpu/partition_export.h"

#include <algorithm>

#include "live/gpu/division.h"

namespace smartmig {

MigConfig exported(const std::vector<GpuBoard>& boards, std::string label, bool placements) {
  MigConfig config{std::move(label), {}};
  for (const GpuBoard& board : boards) {
    MigConfigEntry entry;
    entry.mig_enabled = board.mode == MigMode::kOn;
    if (entry.mig_enabled && board.model) {
      PartCounts counts = part_counts(board);
      for (std::size_t i = 0; i < board.model->profiles().size(); ++i)
        for (int slices = board.model->profiles()[i].compute_slices; slices > 0; --slices)
          if (const auto at = counts.find(part_name(*board.model, int(i), slices)); at != counts.end())
            entry.mig_devices.emplace_back(at->first, at->second);
      if (placements)
        for (const Instance& i : board.instances)
          if (board.layout.contains(i.placement)) entry.placements.push_back(slice_name(*board.model, i.placement));
    }
    const auto same = std::find_if(config.entries.begin(), config.entries.end(), [&](const MigConfigEntry& e) {
      return e.mig_enabled == entry.mig_enabled && e.mig_devices == entry.mig_devices &&
             e.placements == entry.placements;
    });
    MigConfigEntry& target = same == config.entries.end() ? config.entries.emplace_back(std::move(entry)) : *same;
    target.all_devices = false;
    target.devices.push_back(board.index);
  }
  if (config.entries.size() == 1) {
    config.entries[0].all_devices = true;
    config.entries[0].devices.clear();
  }
  return config;
}

MigConfigFile generated(const std::vector<GpuBoard>& boards) {
  std::vector<const GpuModel*> models;
  for (const GpuBoard& board : boards)
    if (board.model &&
        std::none_of(models.begin(), models.end(), [&](auto* m) { return m->name() == board.model->name(); }))
      models.push_back(board.model.get());
  MigConfigFile file;
  MigConfigEntry off, on;
  on.mig_enabled = true;
  file.configs.push_back({"all-disabled", {off}});
  file.configs.push_back({"all-enabled", {on}});
  const auto add = [&](const std::string& label, const GpuModel& model,
                       std::vector<std::pair<std::string, int>> counts) {
    MigConfigEntry entry;
    entry.mig_enabled = true;
    entry.mig_devices = std::move(counts);
    if (models.size() > 1) entry.filter = model.spec().pci_ids;
    const auto at =
        std::find_if(file.configs.begin(), file.configs.end(), [&](const MigConfig& c) { return c.label == label; });
    (at == file.configs.end() ? file.configs.emplace_back(MigConfig{label, {}}) : *at)
        .entries.push_back(std::move(entry));
  };
  for (const GpuModel* model : models)
    for (const Profile& p : model->profiles()) {
      std::string label = "all-" + p.name;
      std::replace(label.begin(), label.end(), '+', '.');
      add(label, *model, {{p.name, p.max_instances}});
    }
  for (const GpuModel* model : models) {
    std::vector<std::pair<std::string, int>> counts;
    for (const auto& [size, count] : {std::pair("1g", 2), std::pair("2g", 1), std::pair("3g", 1)})
      if (const int i = model->find_profile(size); i >= 0)
        counts.emplace_back(model->profiles()[std::size_t(i)].name, count);
    add("all-balanced", *model, std::move(counts));
  }
  return file;
}

}  // namespace smartmig
