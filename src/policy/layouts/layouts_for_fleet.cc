#include "policy/layouts/layouts_for_fleet.h"

#include <algorithm>

#include "mig/shape_translation.h"
#include "policy/layouts/repartitioners.h"

namespace smartmig {
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
