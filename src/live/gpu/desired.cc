#include "live/gpu/desired.h"

#include <algorithm>
#include <set>

#include "live/gpu/mig_config.h"
#include "model/reconfig.h"

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

// Compute instances by name become GPU instances: those of a profile are packed, and `pinned` may ask for more.
Result<Ok> count_parts(const MigConfigEntry& entry, const GpuModel& model, Desired& desired) {
  std::map<int, Division> sizes;  // of the compute instances, by profile
  for (const auto& [name, count] : entry.mig_devices) {
    SMARTMIG_TRY(const ComputePartName part, parse_part_name(model, name));
    sizes[part.profile].insert(sizes[part.profile].end(), std::size_t(count), part.slices);
    desired.counts[part_name(model, part.profile, part.slices)] += count;
  }
  std::vector<std::string> terms;
  const Shape pinned = shape_of(model, desired.pinned);
  for (const auto& [profile, list] : sizes) {
    const Profile& p = model.profiles()[std::size_t(profile)];
    const auto packed = pack(list, p.compute_slices, pinned.count(profile));
    if (!packed)
      return invalid("{} does not fit on {} of {}", to_string(desired.counts), pinned.count(profile), p.name);
    terms.push_back(fmt::format("{}*{}", p.name, packed->size()));
    for (const Division& division : *packed)
      if (division != Division{p.compute_slices}) desired.divided.emplace_back(profile, division);
  }
  SMARTMIG_TRY(desired.shape, parse_shape(model, fmt::format("{}", fmt::join(terms, "+"))));
  return Ok{};
}

void count_whole(const GpuModel& model, Desired& desired) {
  for (std::size_t i = 0; i < model.profiles().size(); ++i)
    if (const int n = desired.shape.count(int(i)); n > 0) desired.counts[model.profiles()[i].name] = n;
}

Result<Desired> from_entry(const MigConfigEntry& entry, const GpuBoard& board) {
  Desired desired;
  desired.gpu = GpuId{std::uint32_t(board.index)};
  desired.mig_enabled = entry.mig_enabled;
  if (!entry.mig_enabled) return desired;
  if (!board.model || board.mode == MigMode::kUnsupported)
    return invalid("{}: the configuration requires MIG, but {}", title(board),
                   board.trouble.empty() ? "it has none" : board.trouble);
  if (!entry.placements.empty()) {
    SMARTMIG_TRY(desired.pinned, parse_layout(*board.model, fmt::format("{}", fmt::join(entry.placements, "+"))));
    desired.shape = shape_of(*board.model, desired.pinned);
  }
  if (entry.mig_devices.empty())
    count_whole(*board.model, desired);
  else
    SMARTMIG_RETURN_IF_ERROR(count_parts(entry, *board.model, desired));
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

// Which GPU instance of the new layout gets which division: the one that has it already, a busy one before others;
// those that are whole stay so as far as whole ones are wanted.
std::vector<DivideStep> divide_steps(const GpuModel& model, const Desired& desired, const GpuBoard& board,
                                     Layout target, Layout busy) {
  std::vector<DivideStep> steps;
  for (std::size_t profile = 0; profile < model.profiles().size(); ++profile) {
    const Division whole{model.profiles()[profile].compute_slices};
    std::vector<Division> open;  // not given yet
    for (const auto& [of, division] : desired.divided)
      if (of == int(profile)) open.push_back(division);
    struct Place {
      PlacementId placement;
      Division now;  // once the layout is there
      bool kept, given;
    };
    std::vector<Place> places;
    for (PlacementId p : target)
      if (model.placement(p).profile == profile) {
        const Instance* there = board.layout.contains(p) ? find_instance(board, p) : nullptr;
        places.push_back({p, there ? division_of(model, *there) : whole, there != nullptr, false});
      }
    open.resize(std::max(open.size(), places.size()), whole);
    for (const bool only_busy : {true, false})
      for (Place& place : places) {
        if (place.given || (only_busy && !busy.contains(place.placement))) continue;
        const auto same = std::find(open.begin(), open.end(), place.now);
        if (same == open.end()) continue;
        open.erase(same);
        place.given = true;
      }
    for (Place& place : places) {
      if (place.given) continue;
      const ReconfigTime time = reconfig_time(model, int(profile));
      steps.push_back(
          {place.placement, open.front(), place.kept,
           Time((time.destroy.count() * int(place.now.size()) + time.create.count() * int(open.front().size())) / 2)});
      open.erase(open.begin());
    }
  }
  return steps;
}

}  // namespace

Result<WantedPartition> desired_of(const MigConfig& config, const std::vector<GpuBoard>& boards) {
  WantedPartition wanted;
  std::set<int> missing;
  for (const MigConfigEntry& entry : config.entries)
    for (int index : entry.devices)
      if (std::none_of(boards.begin(), boards.end(), [&](const GpuBoard& b) { return b.index == index; }))
        missing.insert(index);
  if (!missing.empty())
    wanted.notes.push_back(fmt::format("configuration '{}' names GPU {}, which this machine does not have: left out",
                                       config.label, fmt::join(missing, ", ")));
  for (const GpuBoard& board : boards) {
    const MigConfigEntry* found = nullptr;
    for (const MigConfigEntry& entry : config.entries) {
      if (!covers(entry, board)) continue;
      if (found)
        return invalid("configuration '{}': the entries of line {} and line {} both cover {}", config.label,
                       found->line, entry.line, title(board));
      found = &entry;
    }
    if (!found) {
      wanted.uncovered.push_back(
          fmt::format("{}: no entry of configuration '{}' covers it", title(board), config.label));
      continue;
    }
    if (found->mig_enabled && found->all_devices && board.mode == MigMode::kUnsupported && board.trouble.empty()) {
      wanted.without_mig.push_back(
          fmt::format("{}: the configuration requires MIG, which this GPU does not have", title(board)));
      wanted.notes.push_back(fmt::format("{} has no MIG: not changed", title(board)));
      continue;
    }
    auto desired = from_entry(*found, board);
    if (!desired) return invalid("configuration '{}': {}", config.label, desired.error().what);
    if (!desired->pinned.empty() && !realise_pinned(*board.model, *desired, {}, {}))
      return invalid("configuration '{}': {} does not hold {}", config.label, to_string(*board.model, desired->shape),
                     to_string(*board.model, desired->pinned));
    wanted.gpus.push_back(std::move(*desired));
  }
  if (wanted.uncovered.size() == boards.size())
    wanted.notes.push_back(fmt::format("configuration '{}' covers no GPU of this machine", config.label));
  return wanted;
}

Result<Desired> desired_of(const GpuBoard& board, std::string_view text) {
  if (!board.model) return invalid("{} cannot be partitioned", title(board));
  Desired desired;
  desired.gpu = GpuId{std::uint32_t(board.index)};
  desired.mig_enabled = true;
  if (text.find('@') != text.npos) {
    SMARTMIG_TRY(desired.pinned, parse_layout(*board.model, text));
    desired.shape = shape_of(*board.model, desired.pinned);
  } else {
    SMARTMIG_TRY(desired.shape, parse_shape(*board.model, text));
  }
  count_whole(*board.model, desired);
  return desired;
}

std::optional<std::string> difference(const Desired& desired, const GpuBoard& board, bool mode_only) {
  const bool on = board.mode == MigMode::kOn;
  if (on != desired.mig_enabled)
    return fmt::format("{}: MIG mode is {}, but the configuration requires {}", title(board), on ? "on" : "off",
                       desired.mig_enabled ? "on" : "off");
  if (mode_only || !on) return std::nullopt;
  const GpuModel& model = *board.model;
  for (const Instance& i : board.instances)
    if (i.compute_instance < 0)
      return fmt::format("{}: GPU instance {} has no compute instance", title(board), i.gpu_instance);
  if (!board.trouble.empty()) return fmt::format("{}: {}", title(board), board.trouble);
  if (part_counts(board) != desired.counts)
    return fmt::format("{}: has {}, but the configuration requires {}", title(board), to_string(part_counts(board)),
                       to_string(desired.counts));
  if (!board.layout.contains(desired.pinned))
    return fmt::format("{}: has {}, but the configuration requires {}", title(board), to_string(model, board.layout),
                       to_string(model, desired.pinned));
  return std::nullopt;
}

GpuChange change_for(const Desired& desired, const GpuBoard& board, Layout busy, bool adopt, bool mode_only) {
  GpuChange change;
  change.gpu = desired.gpu;
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
  const bool as_wanted =
      on && !mode_only && !change.mode && part_counts(board) == desired.counts && board.layout.contains(desired.pinned);
  const auto target = as_wanted                           ? board.layout
                      : desired.mig_enabled && !mode_only ? realise_pinned(model, desired, board.layout, busy)
                                                          : Layout{};
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
  if (desired.mig_enabled && !mode_only && !as_wanted)
    change.divide = divide_steps(model, desired, board, *target, busy);
  Layout changed = change.plan.move.destroy;
  for (const DivideStep& step : change.divide) {
    if (step.kept) changed = board.model->subset(board.layout, changed.bits() | 1u << index(step.placement));
    if (step.kept && busy.contains(step.placement))
      change.refusal = fmt::format("{}: {} is busy and must be divided into {}; wait for it", title(board),
                                   slice_name(model, step.placement), to_string(step.into));
  }
  if (const Layout foreign = changed & foreign_layout(board); !foreign.empty() && !adopt)
    change.refusal = fmt::format("{}: {} {} not created by smartmig; add --adopt to destroy it", title(board),
                                 names(model, foreign), foreign.size() == 1 ? "was" : "were");
  return change;
}

}  // namespace smartmig
