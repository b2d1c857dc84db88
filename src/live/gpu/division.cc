#include "live/gpu/division.h"

#include <algorithm>

#include "base/text.h"

namespace smartmig {

Result<ComputePartName> parse_part_name(const GpuModel& model, std::string_view name) {
  ComputePartName part;
  std::string_view profile = name;
  std::optional<std::int64_t> slices;
  if (const auto dot = name.find("c."); dot != name.npos && (slices = parse_int(name.substr(0, dot))))
    profile = name.substr(dot + 2);
  part.profile = model.find_profile(profile);
  if (part.profile < 0)
    return invalid("{} has no profile '{}'; smartmig geometry {} lists them", model.name(), profile, model.name());
  const int whole = model.profiles()[std::size_t(part.profile)].compute_slices;
  part.slices = slices ? int(*slices) : whole;
  // NVML has compute instances of 1, 2, 3, 4, 6, 7 and 8 slices, and none of 3 in 4.
  const bool offered = slices == whole || (part.slices > 0 && part.slices < whole && part.slices != 5 &&
                                           part.slices != 7 && !(part.slices == 3 && whole == 4));
  if (slices && !offered)
    return invalid("'{}': a {} of {} has no compute instance of {} slices", name,
                   model.profiles()[std::size_t(part.profile)].name, model.name(), *slices);
  return part;
}

std::string part_name(const GpuModel& model, int profile, int slices) {
  const Profile& p = model.profiles()[std::size_t(profile)];
  return slices == p.compute_slices ? p.name : fmt::format("{}c.{}", slices, p.name);
}

Division division_of(const GpuModel& model, const Instance& instance) {
  if (instance.parts.empty()) return {model.profile_of(instance.placement).compute_slices};
  Division division;
  for (const ComputePart& part : instance.parts) division.push_back(part.slices);
  std::sort(division.rbegin(), division.rend());
  return division;
}

std::string to_string(const Division& division) {
  std::string text;
  for (int slices : division) text += fmt::format("{}{}c", text.empty() ? "" : "+", slices);
  return text;
}

PartCounts part_counts(const GpuBoard& board) {
  PartCounts counts;
  if (!board.model) return counts;
  for (const Instance& i : board.instances)
    if (i.placement != kNoPlacement && i.compute_instance >= 0)
      for (int slices : division_of(*board.model, i))
        ++counts[part_name(*board.model, board.model->placement(i.placement).profile, slices)];
  return counts;
}

std::string to_string(const PartCounts& counts) {
  if (counts.empty()) return "empty";
  std::vector<std::string> terms;
  for (const auto& [name, count] : counts) terms.push_back(count == 1 ? name : fmt::format("{}*{}", name, count));
  std::sort(terms.begin(), terms.end(), [](const std::string& a, const std::string& b) {
    const auto size = [](const std::string& t) {  // of the GPU instance: "1c.3g.20gb*3" and "3g.20gb" are of 3
      const auto c = t.find("c.");
      return parse_int(t.substr(c == t.npos ? 0 : c + 2, 1)).value_or(0);
    };
    return std::tuple(-size(a), a) < std::tuple(-size(b), b);
  });
  return fmt::format("{}", fmt::join(terms, "+"));
}

std::optional<std::vector<Division>> pack(Division sizes, int capacity, int bins) {
  std::sort(sizes.rbegin(), sizes.rend());
  std::vector<Division> out;
  std::vector<int> room;
  for (int size : sizes) {
    if (size > capacity) return std::nullopt;
    std::size_t at = 0;
    while (at < room.size() && room[at] < size) ++at;
    if (at == room.size()) {
      room.push_back(capacity);
      out.emplace_back();
    }
    room[at] -= size;
    out[at].push_back(size);
  }
  if (int(out.size()) >= bins) return out;
  // More GPU instances than needed: each compute instance goes where most room is left.
  out.assign(std::size_t(bins), {});
  room.assign(std::size_t(bins), capacity);
  for (int size : sizes) {
    const auto most = std::max_element(room.begin(), room.end());
    if (*most < size) return std::nullopt;
    *most -= size;
    out[std::size_t(most - room.begin())].push_back(size);
  }
  if (std::any_of(out.begin(), out.end(), [](const Division& d) { return d.empty(); })) return std::nullopt;
  return out;
}

}  // namespace smartmig
