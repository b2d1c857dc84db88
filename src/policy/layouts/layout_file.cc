#include "policy/layouts/layout_file.h"

#include <algorithm>
#include <limits>

#include "base/json.h"
#include "mig/shape_translation.h"
#include "policy/layouts/repartitioners.h"

namespace smartmig {
namespace {

using OrderedJson = nlohmann::ordered_json;
constexpr double kLargest = std::numeric_limits<double>::max();

}  // namespace

Result<LayoutFile> parse_layout_file(const std::string& name, std::string_view text) {
  SMARTMIG_TRY(const Json json, parse_json(name, text));
  if (!json.is_object() || !json.contains("smartmig_layouts"))
    return invalid("{} is not a layouts file: it must be a JSON object with \"smartmig_layouts\": 1", name);
  SMARTMIG_TRY(const JsonObject root,
               JsonObject::open(json, name, "",
                                {"smartmig_layouts", "source", "kind", "gpus", "placer", "day", "night", "day_begin",
                                 "night_begin", "workload", "a", "et", "seeds"}));
  SMARTMIG_TRY(const auto version, root.integer("smartmig_layouts", 1, INT64_MAX));
  if (version != 1) return invalid("{}: layouts version {} is newer than this program reads (1)", name, version);

  LayoutFile file;
  SMARTMIG_TRY(const std::string kind, root.text("kind"));
  if (kind != "static" && kind != "twice") return invalid("{}: kind '{}' is not static or twice", name, kind);
  file.twice = kind == "twice";
  SMARTMIG_TRY(file.gpus, root.any_text("gpus"));
  SMARTMIG_TRY(file.placer, root.any_text("placer"));
  SMARTMIG_TRY(file.workload, root.any_text("workload"));
  SMARTMIG_TRY(file.day, root.texts("day"));
  if (file.day.empty()) return root.error("day", "must name a shape for each GPU");
  if (file.twice) {
    SMARTMIG_TRY(file.night, root.texts("night"));
    SMARTMIG_TRY(const auto day_begin, root.integer("day_begin", 0, 23));
    SMARTMIG_TRY(const auto night_begin, root.integer("night_begin", 0, 23));
    file.day_begin = int(day_begin);
    file.night_begin = int(night_begin);
    if (file.night.size() != file.day.size())
      return invalid("{}: {} day shapes and {} night shapes", name, file.day.size(), file.night.size());
  }
  SMARTMIG_TRY(file.seeds, root.counts("seeds"));
  SMARTMIG_TRY(file.a, root.number("a", -kLargest, kLargest, file.a));
  SMARTMIG_TRY(file.et, root.number("et", -kLargest, kLargest, file.et));
  return file;
}

std::string to_json(const LayoutFile& file) {
  OrderedJson json;
  json["smartmig_layouts"] = 1;
  json["source"] = "smartmig search";
  json["kind"] = file.twice ? "twice" : "static";
  json["gpus"] = file.gpus;
  json["placer"] = file.placer;
  json["day"] = file.day;
  if (file.twice) {
    json["night"] = file.night;
    json["day_begin"] = file.day_begin;
    json["night_begin"] = file.night_begin;
  }
  json["workload"] = file.workload;
  json["a"] = file.a;
  json["et"] = file.et;
  json["seeds"] = file.seeds;
  return json_dump(json, 1) + "\n";
}

namespace {

struct ModelShapes {
  std::shared_ptr<const GpuModel> gpu;
  std::vector<Shape> shapes;
};

// The file's shapes for each model of its own fleet; that fleet's watts do not matter.
Result<std::vector<ModelShapes>> shapes_by_model(const LayoutFile& file, const std::vector<std::string>& texts) {
  SMARTMIG_TRY(const Platform own, Platform::parse(file.gpus, "linear:1:1:8"));
  std::vector<ModelShapes> out;
  for (const Platform::Model& model : own.models()) out.push_back({model.gpu, {}});
  for (std::size_t g = 0; g < std::max(own.gpus(), texts.size()); ++g) {
    const std::size_t model = std::size_t(own.model_index(GpuId(std::min(g, own.gpus() - 1))));
    SMARTMIG_TRY(const Shape shape, parse_shape(*out[model].gpu, texts[g % texts.size()]));
    out[model].shapes.push_back(shape);
  }
  return out;
}

}  // namespace

Result<std::vector<Shape>> shapes_for_fleet(const LayoutFile& file, const std::vector<std::string>& texts,
                                            const Platform& platform) {
  if (file.gpus.empty()) return parse_shapes(platform, texts, true);
  SMARTMIG_TRY(const auto known, shapes_by_model(file, texts));
  std::vector<std::vector<Shape>> of_model;  // by the platform's models
  for (const Platform::Model& model : platform.models()) {
    const ModelShapes* source = nullptr;
    for (const ModelShapes& own : known)
      if (source == nullptr || own.gpu->name() == model.gpu->name() ||
          (source->gpu->name() != model.gpu->name() && source->gpu->compute_slices() != model.gpu->compute_slices() &&
           own.gpu->compute_slices() == model.gpu->compute_slices()))
        source = &own;
    std::vector<Shape> shapes = source->shapes;
    if (source->gpu->name() != model.gpu->name())
      for (Shape& shape : shapes) shape = translate_shape(*source->gpu, shape, *model.gpu, *model.shapes);
    of_model.push_back(std::move(shapes));
  }
  std::vector<std::size_t> turn(platform.models().size(), 0);
  std::vector<Shape> out;
  for (std::size_t g = 0; g < platform.gpus(); ++g) {
    const std::size_t model = std::size_t(platform.model_index(GpuId(g)));
    out.push_back(of_model[model][turn[model]++ % of_model[model].size()]);
  }
  return out;
}

Result<std::vector<Shape>> translated_over_fleet(std::string_view model, const std::vector<std::string>& texts,
                                                 const Platform& platform) {
  SMARTMIG_TRY(const auto from, Catalog::builtin().find(model));
  std::vector<Shape> out;
  for (std::size_t g = 0; g < platform.gpus(); ++g) {
    SMARTMIG_TRY(const Shape shape, parse_shape(*from, texts[g % texts.size()]));
    const Platform::Model& to = platform.model(GpuId(g));
    out.push_back(to.gpu->name() == from->name() ? shape : translate_shape(*from, shape, *to.gpu, *to.shapes));
  }
  return out;
}

}  // namespace smartmig
