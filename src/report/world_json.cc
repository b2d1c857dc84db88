#include "report/world_json.h"

namespace smartmig {
namespace {

nlohmann::json known_mib(int mib) { return mib > 0 ? nlohmann::json(mib) : nlohmann::json(); }

}  // namespace

nlohmann::json world_json(const Platform& platform) {
  nlohmann::json models = nlohmann::json::object(), gpus = nlohmann::json::array();
  for (const Platform::Model& model : platform.models()) {
    nlohmann::json profiles = nlohmann::json::object();
    for (const Profile& profile : model.gpu->profiles())
      profiles[profile.name] = {{"compute_slices", profile.compute_slices},
                                {"memory_slices", profile.memory_slices},
                                {"memory_mib", known_mib(profile.memory_mib)}};
    models[model.gpu->name()] = {{"compute_slices", model.gpu->compute_slices()},
                                 {"memory_slices", model.gpu->memory_slices()},
                                 {"memory_mib", known_mib(model.gpu->spec().memory_mib)},
                                 {"profiles", std::move(profiles)}};
  }
  for (std::size_t g = 0; g < platform.gpus(); ++g) gpus.push_back(platform.model(GpuId(g)).gpu->name());
  return {{"models", std::move(models)}, {"gpus", std::move(gpus)}};
}

}  // namespace smartmig
