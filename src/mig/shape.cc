#include "mig/shape.h"

#include <algorithm>

#include "base/text.h"

namespace smartmig {
namespace {

constexpr int kMaxCount = 15;  // of each profile in a Shape

// Removes the memory from a name: "1g.5gb+me" -> "1g+me".
std::string without_memory(const std::string& name) {
  const auto dot = name.find('.');
  const auto suffix = name.find_first_of("+-", dot == name.npos ? 0 : dot);
  return name.substr(0, dot) + (suffix == name.npos ? "" : name.substr(suffix));
}

Result<int> profile_named(const GpuModel& model, std::string_view text) {
  const std::string name = lower(text);
  if (const int found = model.find_profile(name); found >= 0) return found;
  std::vector<std::string> names;
  for (const Profile& p : model.profiles()) {
    if (without_memory(p.name) == name && p.variant != Variant::kDoubleMemory) return int(&p - model.profiles().data());
    names.push_back(p.name);
  }
  const std::string near = nearest(name, names);
  return not_found("{} has no profile '{}'; {}{}", model.name(), text,
                   near.empty() ? "" : "did you mean " + near + "? ", fmt::format("it has {}", fmt::join(names, ", ")));
}

// Splits "a+b+c" into terms; "+me", "+gfx" and "+me.all" belong to the profile before them.
std::vector<std::string> terms(std::string_view text) {
  std::vector<std::string> result;
  for (std::string_view piece : split(text, '+')) {
    piece = trim(piece);
    const bool suffix =
        lower(piece).starts_with("me") || lower(piece).starts_with("gfx");  // a profile starts with a digit
    if (suffix && !result.empty())
      result.back().append("+").append(piece);
    else
      result.emplace_back(piece);
  }
  return result;
}

bool is_number(std::string_view text) { return !text.empty() && text.find_first_not_of("0123456789") == text.npos; }

// "1g*7", "1gx7" or "7x1g" -> ("1g", 7); "1g" -> ("1g", 1).
Result<std::pair<std::string, int>> counted(const std::string& term) {
  std::string name = term, number = "1";
  if (const auto last = term.find_last_of("*xX"); last != term.npos && last > 0 && is_number(term.substr(last + 1))) {
    name = term.substr(0, last);
    number = term.substr(last + 1);
  } else if (const auto first = term.find_first_of("*xX"); first != term.npos && is_number(term.substr(0, first))) {
    name = term.substr(first + 1);
    number = term.substr(0, first);
  }
  const auto value = parse_int(number);
  if (!value || *value < 1 || *value > kMaxCount) return invalid("'{}': the count must be 1 to {}", term, kMaxCount);
  return std::pair(std::string(trim(name)), int(*value));
}

// Whether the profiles of `shape` from `profile` on can be placed, the last `left` of it at placements >= from.
bool placeable(const GpuModel& model, Shape shape, Layout layout, int profile, int left, std::size_t from) {
  if (left == 0) {
    do {
      if (++profile == int(model.profiles().size())) return true;
    } while (shape.count(profile) == 0);
    left = shape.count(profile);
    from = 0;
  }
  for (std::size_t i = from; i < model.placements().size(); ++i) {
    if (model.placements()[i].profile != profile) continue;
    const auto next = model.with(layout, PlacementId(i));
    if (next && placeable(model, shape, *next, profile, left - 1, i + 1)) return true;
  }
  return false;
}

Result<Ok> check_fits(const GpuModel& model, Shape shape, std::string_view text) {
  int slices = 0, media = 0;
  bool all_media = false, others = false;
  for (std::size_t i = 0; i < model.profiles().size(); ++i) {
    const Profile& p = model.profiles()[i];
    const int n = shape.count(int(i));
    if (n > p.max_instances)
      return invalid("'{}' does not fit on {}: at most {} of {} can exist at once", text, model.name(), p.max_instances,
                     p.name);
    slices += n * p.memory_slices;
    if (p.variant == Variant::kMedia) media += n;
    if (p.variant == Variant::kAllMedia) all_media = all_media || n > 0;
    if (p.variant != Variant::kAllMedia && p.variant != Variant::kNoMedia) others = others || n > 0;
  }
  if (slices > model.memory_slices())
    return invalid("'{}' does not fit on {}: it needs {} memory slices of {}", text, model.name(), slices,
                   model.memory_slices());
  if (media > 1)
    return invalid("'{}' does not fit on {}: at most one +me instance can exist at once", text, model.name());
  if (all_media && others)
    return invalid("'{}' does not fit on {}: a +me.all instance can exist only with -me instances", text, model.name());
  if (!placeable(model, shape, {}, -1, 0, 0))
    return invalid("'{}' does not fit on {}: the legal starts of these profiles overlap; see smartmig geometry {}",
                   text, model.name(), model.name());
  return Ok{};
}

// Orders profiles from large to small.
bool larger(const Profile& a, const Profile& b) {
  return std::pair(a.compute_slices, a.memory_slices) > std::pair(b.compute_slices, b.memory_slices);
}

}  // namespace

Shape shape_of(const GpuModel& model, Layout layout) {
  Shape shape;
  for (PlacementId p : layout) shape.add(model.placement(p).profile);
  return shape;
}

std::string to_string(const GpuModel& model, Shape shape) {
  if (shape.empty()) return "empty";
  std::vector<int> order(model.profiles().size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = int(i);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return larger(model.profiles()[std::size_t(a)], model.profiles()[std::size_t(b)]);
  });
  std::string text;
  for (int i : order)
    if (const int n = shape.count(i); n > 0)
      text += fmt::format("{}{}{}", text.empty() ? "" : "+", model.profiles()[std::size_t(i)].name,
                          n == 1 ? "" : fmt::format("*{}", n));
  return text;
}

std::string to_string(const GpuModel& model, Layout layout) {
  if (layout.empty()) return "empty";
  std::vector<PlacementId> order;
  for (PlacementId p : layout) order.push_back(p);
  std::sort(order.begin(), order.end(),
            [&](PlacementId a, PlacementId b) { return model.placement(a).start < model.placement(b).start; });
  std::string text;
  for (PlacementId p : order)
    text += fmt::format("{}{}@{}", text.empty() ? "" : "+", model.profile_of(p).name, model.placement(p).start);
  return text;
}

Result<Shape> parse_shape(const GpuModel& model, std::string_view text) {
  const std::string_view whole = trim(text);
  if (whole.empty()) return invalid("the shape is empty; write for example 4g+2g+1g, or 'empty'");
  if (lower(whole) == "empty") return Shape{};
  if (is_number(whole)) {
    const auto numbered = paper_shapes(model);
    if (numbered.empty())
      return invalid(
          "'{}': the papers' layout numbers are for the 7-slice family; {} needs a shape such as "
          "2g+1g+1g",
          whole, model.name());
    const auto number = parse_int(whole);
    if (!number || *number < 1 || *number > std::int64_t(numbered.size()))
      return invalid("'{}': the papers number their layouts from 1 to {}", whole, numbered.size());
    return numbered[std::size_t(*number - 1)];
  }
  Shape shape;
  for (const std::string& term : terms(whole)) {
    if (term.empty()) return invalid("'{}': a profile is missing next to '+'", whole);
    if (term.find('@') != term.npos) return invalid("'{}' has a start; a shape has only profiles and counts", term);
    SMARTMIG_TRY(const auto entry, counted(term));
    SMARTMIG_TRY(const int profile, profile_named(model, entry.first));
    if (shape.count(profile) + entry.second > kMaxCount)
      return invalid("'{}' does not fit on {}: more than {} of {}", whole, model.name(), kMaxCount,
                     model.profiles()[std::size_t(profile)].name);
    for (int i = 0; i < entry.second; ++i) shape.add(profile);
  }
  SMARTMIG_RETURN_IF_ERROR(check_fits(model, shape, whole));
  return shape;
}

Result<Layout> parse_layout(const GpuModel& model, std::string_view text) {
  const std::string_view whole = trim(text);
  if (whole.empty()) return invalid("the layout is empty; write for example 4g@0+2g@4+1g@6, or 'empty'");
  Layout layout;
  if (lower(whole) == "empty") return layout;
  for (const std::string& term : terms(whole)) {
    const auto at = term.find('@');
    if (at == term.npos)
      return invalid("'{}' has no start; write a layout as profile@start, for example 4g@0+2g@4+1g@6", term);
    SMARTMIG_TRY(const int profile, profile_named(model, trim(std::string_view(term).substr(0, at))));
    const Profile& p = model.profiles()[std::size_t(profile)];
    const auto start = parse_int(trim(std::string_view(term).substr(at + 1)));
    const PlacementId id = start && *start >= 0 && *start < model.memory_slices()
                               ? model.find_placement(profile, int(*start))
                               : kNoPlacement;
    if (id == kNoPlacement)
      return invalid("'{}': {} of {} may start at {}", term, p.name, model.name(), fmt::join(p.starts, ", "));
    const auto next = model.with(layout, id);
    if (!next) {
      for (PlacementId other : layout)
        if (model.placement(other).mask & model.placement(id).mask)
          return invalid("'{}': {}@{} overlaps {}@{}", whole, p.name, *start, model.profile_of(other).name,
                         model.placement(other).start);
      return invalid("'{}': {} cannot exist with the others (at most {} of it, one +me, +me.all only with -me)", whole,
                     p.name, p.max_instances);
    }
    layout = *next;
  }
  return layout;
}

std::vector<Shape> paper_shapes(const GpuModel& model) {
  // Sizes of the papers' layouts 1..12. 10 is the double-memory 1g that fills layouts with a single 1g at the end.
  static const std::vector<std::vector<int>> kSizes = {
      {7},           {4, 3},           {4, 2, 10},          {4, 1, 1, 10},
      {3, 3},        {3, 2, 2},        {3, 2, 1, 1},        {3, 1, 1, 1, 1},
      {2, 2, 2, 10}, {2, 2, 1, 1, 10}, {2, 1, 1, 1, 1, 10}, {1, 1, 1, 1, 1, 1, 10}};
  if (model.compute_slices() != 7) return {};
  int doubled = -1;
  for (std::size_t i = 0; i < model.profiles().size(); ++i)
    if (model.profiles()[i].variant == Variant::kDoubleMemory && model.profiles()[i].compute_slices == 1)
      doubled = int(i);
  std::vector<Shape> shapes;
  for (const auto& sizes : kSizes) {
    Shape shape;
    for (int size : sizes) {
      const int profile = size == 10 ? doubled : model.find_profile(fmt::format("{}g", size));
      if (profile < 0) return {};
      shape.add(profile);
    }
    if (!check_fits(model, shape, "")) return {};
    shapes.push_back(shape);
  }
  return shapes;
}

ShapeTable::ShapeTable(const GpuModel& model, ProfileMask profiles) : model_(&model) {
  std::vector<std::pair<Shape, Layout>> all;
  for (Layout layout : model.layouts(profiles)) all.emplace_back(shape_of(model, layout), layout);
  std::sort(all.begin(), all.end());
  for (const auto& [shape, layout] : all) {
    if (shapes_.empty() || shapes_.back() != shape) {
      shapes_.push_back(shape);
      first_.push_back(std::uint32_t(layouts_.size()));
    }
    layouts_.push_back(layout);
  }
  first_.push_back(std::uint32_t(layouts_.size()));
}

std::vector<Shape> ShapeTable::maximal_shapes() const {
  ProfileMask profiles = 0;  // the profiles of the table: each occurs alone in some layout
  for (Layout layout : layouts_)
    for (PlacementId p : layout) profiles |= ProfileMask(1) << model_->placement(p).profile;
  std::vector<Shape> maximal;
  for (std::size_t i = 0; i < shapes_.size(); ++i)
    if (std::any_of(layouts_.begin() + first_[i], layouts_.begin() + first_[i + 1],
                    [&](Layout l) { return model_->maximal(l, profiles); }))
      maximal.push_back(shapes_[i]);
  return maximal;
}

std::vector<Layout> ShapeTable::layouts_of(Shape shape) const {
  const auto at = std::lower_bound(shapes_.begin(), shapes_.end(), shape);
  if (at == shapes_.end() || *at != shape) return {};
  const auto i = std::size_t(at - shapes_.begin());
  return {layouts_.begin() + first_[i], layouts_.begin() + first_[i + 1]};
}

std::optional<Layout> ShapeTable::realise(Shape shape, Layout current, Layout busy) const {
  const auto at = std::lower_bound(shapes_.begin(), shapes_.end(), shape);
  if (at == shapes_.end() || *at != shape) return std::nullopt;
  const auto i = std::size_t(at - shapes_.begin());
  const auto kept = [&](Layout l) { return std::pair((l & busy).size(), (l & current).size()); };
  Layout best = layouts_[first_[i]];
  for (std::uint32_t j = first_[i] + 1; j < first_[i + 1]; ++j)
    if (kept(layouts_[j]) > kept(best)) best = layouts_[j];
  return best;
}

}  // namespace smartmig
