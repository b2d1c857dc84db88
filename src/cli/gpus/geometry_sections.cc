#include "cli/gpus/geometry_sections.h"

#include <fmt/format.h>

#include <algorithm>

#include "mig/catalog.h"
#include "mig/choose.h"
#include "mig/moves.h"
#include "mig/shape.h"
#include "model/reconfig.h"

namespace smartmig::cli {
namespace {

std::string profile_label(const Profile& p) {
  return p.variant == Variant::kPlain ? p.name.substr(0, p.name.find('.')) : p.name;
}

std::string without_trailing_spaces(const std::string& line) { return line.substr(0, line.find_last_not_of(' ') + 1); }

}  // namespace

LayoutDrawing::LayoutDrawing(const GpuModel& model, const std::vector<Layout>& layouts) : model_(model) {
  for (Layout layout : layouts)
    for (PlacementId p : layout) {
      const Profile& profile = model.profile_of(p);
      cell_ = std::max(cell_, (profile_label(profile).size() + 2 + std::size_t(profile.memory_slices) - 1) /
                                  std::size_t(profile.memory_slices));
    }
}

std::string LayoutDrawing::axis() const {
  std::string line;
  for (int s = 0; s < model_.memory_slices(); ++s) line += fmt::format(" {:<{}}", s, cell_ - 1);
  return without_trailing_spaces(line);
}

std::string LayoutDrawing::operator()(Layout layout) const {
  std::string line;
  for (int s = 0; s < model_.memory_slices(); ++s) line += fmt::format(" {:<{}}", ".", cell_ - 1);
  for (PlacementId p : layout) {
    const Profile& profile = model_.profile_of(p);
    const std::size_t width = cell_ * std::size_t(profile.memory_slices);
    line.replace(cell_ * model_.placement(p).start, width, fmt::format("[{:<{}}]", profile_label(profile), width - 2));
  }
  return without_trailing_spaces(line);
}

namespace {

using OrderedJson = nlohmann::ordered_json;

std::string known(int value) { return value > 0 ? std::to_string(value) : "-"; }
OrderedJson known_json(int value) { return value > 0 ? OrderedJson(value) : OrderedJson(); }

int maximal_count(const GpuModel& model, ProfileMask profiles) {
  const auto all = model.layouts(profiles);
  return int(std::count_if(all.begin(), all.end(), [&](Layout l) { return model.maximal(l, profiles); }));
}

std::string provenance(const GpuModel& model) { return model.spec().placements_inferred ? "inferred" : "observed"; }

const char* variant_name(Variant variant) {
  switch (variant) {
    case Variant::kPlain:
      return "plain";
    case Variant::kDoubleMemory:
      return "double memory";
    case Variant::kHalfMemory:
      return "half memory";
    case Variant::kMedia:
      return "media";
    case Variant::kGraphics:
      return "graphics";
    case Variant::kAllMedia:
      return "all media";
    case Variant::kNoMedia:
      return "no media";
  }
  return "";
}

// The profile sets that counts are given for; sets equal to the one before are left out.
std::vector<std::pair<std::string, ProfileMask>> profile_sets(const GpuModel& model) {
  std::vector<std::pair<std::string, ProfileMask>> sets{{"plain", model.plain_profiles()}};
  if (model.schedulable_profiles() != sets.back().second)
    sets.emplace_back(model.tables() == model.name() ? "plain and double memory" : "and double and half memory",
                      model.schedulable_profiles());
  if (model.all_profiles() != sets.back().second) sets.emplace_back("all", model.all_profiles());
  return sets;
}

void count_reach(const GpuModel& model, Layout busy, const char* key, GeometryOutput& out) {
  out.text += fmt::format("{:<26} {:>8} {:>8} {:>8}\n", "profiles", "layouts", "maximal", "shapes");
  out.json[key] = OrderedJson::array();
  for (const auto& [name, profiles] : profile_sets(model)) {
    const Reach found = reach(model, busy, profiles);
    out.text += fmt::format("{:<26} {:>8} {:>8} {:>8}\n", name, found.layouts, found.maximal, found.shapes);
    out.json[key].push_back(
        {{"profiles", name}, {"layouts", found.layouts}, {"maximal", found.maximal}, {"shapes", found.shapes}});
  }
}

void draw(const GpuModel& model, const std::vector<Layout>& layouts, const char* key, GeometryOutput& out) {
  const LayoutDrawing drawing(model, layouts);
  out.text += fmt::format("{:>4}  {}\n", "", drawing.axis());
  out.json[key] = OrderedJson::array();
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    out.text += fmt::format("{:>4}  {}\n", i + 1, drawing(layouts[i]));
    out.json[key].push_back({{"number", i + 1},
                             {"layout", to_string(model, layouts[i])},
                             {"shape", to_string(model, shape_of(model, layouts[i]))},
                             {"compute_used", model.compute_used(layouts[i])}});
  }
}

}  // namespace

void list_models(GeometryOutput& out) {
  out.text += fmt::format("{:<28} {:>6} {:>5} {:>10} {:>9} {:>8} {:>8} {:>6}  {}\n", "model", "slices", "SMs",
                          "memory MiB", "profiles", "layouts", "maximal", "paper", "placements");
  out.json["models"] = OrderedJson::array();
  for (const auto& model : Catalog::builtin().models()) {
    int memory = model->spec().memory_mib;
    for (const Profile& p : model->profiles())
      if (memory == 0 && p.compute_slices == model->compute_slices()) memory = p.memory_mib;
    const ProfileMask plain = model->plain_profiles();
    const std::size_t layouts = model->layouts(plain).size();
    const int maximal = maximal_count(*model, plain);
    const bool paper = !paper_shapes(*model).empty();
    out.text += fmt::format("{:<28} {:>6} {:>5} {:>10} {:>9} {:>8} {:>8} {:>6}  {}\n", model->name(),
                            model->compute_slices(), known(model->spec().sms), known(memory), model->profiles().size(),
                            layouts, maximal, paper ? "yes" : "no", provenance(*model));
    out.json["models"].push_back({{"name", model->name()},
                                  {"products", model->spec().products},
                                  {"architecture", model->spec().architecture},
                                  {"compute_slices", model->compute_slices()},
                                  {"memory_slices", model->memory_slices()},
                                  {"sms", known_json(model->spec().sms)},
                                  {"memory_mib", known_json(memory)},
                                  {"profiles", model->profiles().size()},
                                  {"layouts", layouts},
                                  {"maximal_layouts", maximal},
                                  {"paper_layouts", paper},
                                  {"placements", provenance(*model)},
                                  {"source", model->spec().source}});
  }
  out.text +=
      "\nLayouts and maximal layouts count plain profiles only. Memory is that of the board or, if that is unknown, of its whole-GPU profile; - means unknown.\n";
  out.text += "For the details of one model: smartmig geometry a100-40gb\n";
}

void list_profiles(const GpuModel& model, ProfileMask shown, GeometryOutput& out) {
  out.text += fmt::format("{}: {}, {} compute slices, {} memory slices, placements {}\n\n", model.name(),
                          fmt::join(model.spec().products, " / "), model.compute_slices(), model.memory_slices(),
                          provenance(model));
  out.text += fmt::format("{:<16} {:>4} {:>7} {:>7} {:>4} {:>11} {:>4} {:>9} {:>9}  {:<14} {}\n", "profile", "id",
                          "compute", "memory", "SMs", "memory MiB", "max", "create s", "destroy s", "starts", "kind");
  out.json["products"] = model.spec().products;
  out.json["pci_ids"] = model.spec().pci_ids;
  out.json["compute_slices"] = model.compute_slices();
  out.json["memory_slices"] = model.memory_slices();
  out.json["placements"] = provenance(model);
  out.json["source"] = model.spec().source;
  out.json["profiles"] = OrderedJson::array();
  for (std::size_t i = 0; i < model.profiles().size(); ++i) {
    if (!(shown >> i & 1)) continue;
    const Profile& p = model.profiles()[i];
    const ReconfigTime time = reconfig_time(model, int(i));
    out.text +=
        fmt::format("{:<16} {:>4} {:>7} {:>7} {:>4} {:>11} {:>4} {:>9.2f} {:>9.2f}  {:<14} {}\n", p.name,
                    p.nvml_id < 0 ? "-" : std::to_string(p.nvml_id), p.compute_slices, p.memory_slices, known(p.sms),
                    known(p.memory_mib), p.max_instances, seconds(time.create), seconds(time.destroy),
                    fmt::format("{}", fmt::join(p.starts, " ")), variant_name(p.variant));
    out.json["profiles"].push_back({{"name", p.name},
                                    {"nvml_id", p.nvml_id < 0 ? OrderedJson() : OrderedJson(p.nvml_id)},
                                    {"kind", variant_name(p.variant)},
                                    {"compute_slices", p.compute_slices},
                                    {"memory_slices", p.memory_slices},
                                    {"sms", known_json(p.sms)},
                                    {"memory_mib", known_json(p.memory_mib)},
                                    {"max_instances", p.max_instances},
                                    {"starts", p.starts},
                                    {"create_s", seconds(time.create)},
                                    {"destroy_s", seconds(time.destroy)}});
  }
}

void show_layouts(const GpuModel& model, ProfileMask profiles, GeometryOutput& out) {
  out.text += "\n";
  count_reach(model, {}, "counts", out);
  std::vector<Layout> maximal, paper;
  for (Layout layout : model.layouts(profiles))
    if (model.maximal(layout, profiles)) maximal.push_back(layout);
  // Fewest instances first.
  std::stable_sort(maximal.begin(), maximal.end(), [](Layout a, Layout b) { return a.size() < b.size(); });
  out.text += fmt::format("\nMaximal layouts of {} profiles, on the axis of memory slices (. is free):\n",
                          profiles == model.plain_profiles() ? "plain" : "all");
  draw(model, maximal, "maximal_layouts", out);
  const ShapeTable table(model, model.schedulable_profiles());
  for (Shape shape : paper_shapes(model)) paper.push_back(*table.realise(shape, {}, {}));
  if (paper.empty()) return;
  out.text += "\nThe papers' layouts by number, each at its lowest placement:\n";
  draw(model, paper, "paper_layouts", out);
}

void show_busy(const GpuModel& model, Layout busy, GeometryOutput& out) {
  out.text += fmt::format("Reachable around busy {}:\n\n", to_string(model, busy));
  out.json["busy"] = to_string(model, busy);
  count_reach(model, busy, "reachable", out);
  out.text += "\nBest placement of one more instance (keeps the most layouts reachable):\n";
  out.json["best_start"] = OrderedJson::object();
  for (std::size_t i = 0; i < model.profiles().size(); ++i) {
    if (!(model.schedulable_profiles() >> i & 1)) continue;
    const auto best = best_placement(model, busy, int(i), model.schedulable_profiles());
    const std::string& name = model.profiles()[i].name;
    out.text +=
        fmt::format("  {:<14} {}\n", name, best ? std::to_string(model.placement(*best).start) : "does not fit");
    out.json["best_start"][name] = best ? OrderedJson(model.placement(*best).start) : OrderedJson();
  }
}

Result<Ok> show_choice(const GpuModel& model, int mem_mib, int min_slices, GeometryOutput& out) {
  SMARTMIG_TRY(const int chosen, choose_profile(model, mem_mib, min_slices));
  std::vector<std::string> others;
  for (int i : suitable_profiles(model, mem_mib, min_slices, model.schedulable_profiles()))
    if (i != chosen) others.push_back(model.profiles()[std::size_t(i)].name);
  const std::string& name = model.profiles()[std::size_t(chosen)].name;
  out.text +=
      fmt::format("Smallest profile with {} MiB and {} compute slices: {}{}\n", mem_mib, std::max(min_slices, 1), name,
                  others.empty() ? "" : fmt::format(" (then {})", fmt::join(others, ", ")));
  out.json["choice"] = {{"mem_mib", mem_mib}, {"min_slices", min_slices}, {"profile", name}, {"then", others}};
  return Ok{};
}

Result<Ok> show_move(const GpuModel& model, Layout from, Layout to, Layout busy, GeometryOutput& out) {
  const Move move = move_between(from, to);
  if (!legal(move, busy))
    return Error{Error::kBusy,
                 fmt::format("{} is busy and blocks {}; wait for it, or choose a layout that keeps it",
                             to_string(model, model.subset(busy, move.destroy.bits())), to_string(model, to))};
  out.text += fmt::format("From {}\nto   {}\nkeep {}\n", to_string(model, from), to_string(model, to),
                          to_string(model, move.keep));
  out.json["move"] = {{"from", to_string(model, from)},
                      {"to", to_string(model, to)},
                      {"destroy", to_string(model, move.destroy)},
                      {"keep", to_string(model, move.keep)},
                      {"create", to_string(model, move.create)},
                      {"operations", OrderedJson::array()}};
  Time total{};
  for (const Operation& op : operations(model, move)) {
    const ReconfigTime time = reconfig_time(model, model.placement(op.placement).profile);
    const bool create = op.kind == Operation::kCreate;
    const std::string name =
        fmt::format("{}@{}", model.profile_of(op.placement).name, model.placement(op.placement).start);
    total += create ? time.create : time.destroy;
    out.text += fmt::format("  {:<8} {:<16} {:.2f} s\n", create ? "create" : "destroy", name,
                            seconds(create ? time.create : time.destroy));
    out.json["move"]["operations"].push_back({{"operation", create ? "create" : "destroy"},
                                              {"placement", name},
                                              {"seconds", seconds(create ? time.create : time.destroy)}});
  }
  out.text +=
      fmt::format("Total {:.2f} s, one operation after another; slices that stay keep running.\n", seconds(total));
  out.json["move"]["seconds"] = seconds(total);
  return Ok{};
}

}  // namespace smartmig::cli
