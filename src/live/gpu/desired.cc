#include "live/gpu/desired.h"

#include <algorithm>

#include "live/gpu/device_filter.h"

namespace smartmig {
namespace {

bool covers(const MigConfigEntry& entry, const GpuBoard& board) {
  if (!entry.all_devices && std::find(entry.devices.begin(), entry.devices.end(), board.index) == entry.devices.end())
    return false;
  return entry.filter.empty() || std::any_of(entry.filter.begin(), entry.filter.end(), [&](const std::string& id) {
           const auto filter = DeviceFilter::parse(id);
           return filter && filter->matches(board);
         });
}

Result<Desired> from_entry(const MigConfigEntry& entry, const GpuBoard& board) {
  Desired desired{GpuId{std::uint32_t(board.index)}, entry.mig_enabled, {}, {}};
  if (!entry.mig_enabled) return desired;
  if (!board.model || board.mode == MigMode::kUnsupported)
    return invalid("{}: MIG is asked for, but {}", title(board), board.trouble.empty() ? "it has none" : board.trouble);
  if (!entry.placements.empty()) {
    SMARTMIG_TRY(desired.pinned, parse_layout(*board.model, fmt::format("{}", fmt::join(entry.placements, "+"))));
    desired.shape = shape_of(*board.model, desired.pinned);
  }
  if (!entry.mig_devices.empty()) {
    std::vector<std::string> terms;
    for (const auto& [profile, count] : entry.mig_devices) terms.push_back(fmt::format("{}*{}", profile, count));
    SMARTMIG_TRY(desired.shape, parse_shape(*board.model, fmt::format("{}", fmt::join(terms, "+"))));
  }
  return desired;
}

// Of the layouts that have the shape and the pinned placements: the one that keeps most of what is busy, then of what
// is there.
std::optional<Layout> realise_pinned(const GpuModel& model, const Desired& desired, Layout current, Layout busy) {
  std::optional<Layout> best;
  const ShapeTable shapes = shapes_around(model, desired.shape);
  const auto kept = [&](Layout l) { return std::pair((l & busy).size(), (l & current).size()); };
  for (Layout layout : shapes.layouts_of(desired.shape))
    if (layout.contains(desired.pinned) && (!best || kept(layout) > kept(*best))) best = layout;
  return best;
}

}  // namespace

Result<std::vector<Desired>> desired_of(const MigConfig& config, const std::vector<GpuBoard>& boards) {
  std::vector<Desired> all;
  for (const MigConfigEntry& entry : config.entries)
    for (int index : entry.devices)
      if (std::none_of(boards.begin(), boards.end(), [&](const GpuBoard& b) { return b.index == index; }))
        return invalid("configuration '{}' names GPU {}, which is not there: the machine has {}", config.label, index,
                       boards.size());
  for (const GpuBoard& board : boards) {
    const MigConfigEntry* found = nullptr;
    for (const MigConfigEntry& entry : config.entries) {
      if (!covers(entry, board)) continue;
      if (found)
        return invalid("configuration '{}': the entries of line {} and line {} both cover {}", config.label,
                       found->line, entry.line, title(board));
      found = &entry;
    }
    if (!found) continue;
    auto desired = from_entry(*found, board);
    if (!desired) return invalid("configuration '{}': {}", config.label, desired.error().what);
    if (!desired->pinned.empty() && !realise_pinned(*board.model, *desired, {}, {}))
      return invalid("configuration '{}': {} does not hold {}", config.label, to_string(*board.model, desired->shape),
                     to_string(*board.model, desired->pinned));
    all.push_back(*desired);
  }
  if (all.empty()) return invalid("configuration '{}' covers no GPU of this machine", config.label);
  return all;
}

Result<Desired> desired_of(const GpuBoard& board, std::string_view text) {
  if (!board.model) return invalid("{} cannot be partitioned", title(board));
  Desired desired{GpuId{std::uint32_t(board.index)}, true, {}, {}};
  if (text.find('@') != text.npos) {
    SMARTMIG_TRY(desired.pinned, parse_layout(*board.model, text));
    desired.shape = shape_of(*board.model, desired.pinned);
  } else {
    SMARTMIG_TRY(desired.shape, parse_shape(*board.model, text));
  }
  return desired;
}

std::optional<std::string> difference(const Desired& desired, const GpuBoard& board, bool mode_only) {
  const bool on = board.mode == MigMode::kOn;
  if (on != desired.mig_enabled)
    return fmt::format("{}: MIG mode is {}, {} is wanted", title(board), on ? "on" : "off",
                       desired.mig_enabled ? "on" : "off");
  if (mode_only || !on) return std::nullopt;
  const GpuModel& model = *board.model;
  for (const Instance& i : board.instances)
    if (i.compute_instance < 0)
      return fmt::format("{}: GPU instance {} has no compute instance", title(board), i.gpu_instance);
  if (!board.trouble.empty()) return fmt::format("{}: {}", title(board), board.trouble);
  if (shape_of(model, board.layout) != desired.shape)
    return fmt::format("{}: has {}, {} is wanted", title(board), to_string(model, shape_of(model, board.layout)),
                       to_string(model, desired.shape));
  if (!board.layout.contains(desired.pinned))
    return fmt::format("{}: has {}, {} is wanted", title(board), to_string(model, board.layout),
                       to_string(model, desired.pinned));
  return std::nullopt;
}

GpuChange change_for(const Desired& desired, const GpuBoard& board, Layout busy, bool adopt, bool mode_only) {
  GpuChange change{desired.gpu, {}, {}, ""};
  const bool on = board.mode == MigMode::kOn;
  change.plan.from = change.plan.to = board.layout;
  if (!board.model) {
    if (desired.mig_enabled) change.refusal = fmt::format("{} cannot be partitioned", title(board));
    return change;
  }
  if (!board.trouble.empty() && (on || desired.mig_enabled)) {
    change.refusal = fmt::format("{}: {}", title(board), board.trouble);
    return change;
  }
  if (on != desired.mig_enabled) change.mode = desired.mig_enabled;
  if (mode_only && !change.mode) return change;
  const GpuModel& model = *board.model;
  const auto target = desired.mig_enabled && !mode_only ? realise_pinned(model, desired, board.layout, busy) : Layout{};
  if (!target) {
    change.refusal = fmt::format("{}: {} fits on no layout", title(board), to_string(model, desired.shape));
    return change;
  }
  auto plan = plan_reshape(model, board.layout, busy, *target);
  if (!plan) {
    change.refusal = fmt::format("{}: {}", title(board), plan.error().what);
    return change;
  }
  change.plan = std::move(*plan);
  if (const Layout foreign = change.plan.move.destroy & foreign_layout(board); !foreign.empty() && !adopt)
    change.refusal = fmt::format("{}: {} {} not made by smartmig; --adopt lets it be destroyed", title(board),
                                 names(model, foreign), foreign.size() == 1 ? "was" : "were");
  return change;
}

MigConfig exported(const std::vector<GpuBoard>& boards, std::string label, bool placements) {
  MigConfig config{std::move(label), {}};
  for (const GpuBoard& board : boards) {
    MigConfigEntry entry;
    entry.mig_enabled = board.mode == MigMode::kOn;
    if (entry.mig_enabled && board.model) {
      const Shape shape = shape_of(*board.model, board.layout);
      for (std::size_t i = 0; i < board.model->profiles().size(); ++i)
        if (const int n = shape.count(int(i)); n > 0)
          entry.mig_devices.emplace_back(board.model->profiles()[i].name, n);
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
