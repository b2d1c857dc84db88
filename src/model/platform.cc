#include "model/platform.h"

#include <algorithm>

#include "base/text.h"

namespace smartmig {

namespace {

constexpr std::int64_t kMaxGpus = 1'000'000;

// `power`: "paper" for every model, or by model: "a100-40gb=paper,a30-24gb=linear:30:35:165", the others "auto".
Result<PowerModel> power_of(std::string_view power, const GpuModel& gpu, const Catalog& catalog) {
  if (power.find('=') == power.npos) return PowerModel::named(power, gpu);
  std::string_view own = "auto";
  bool exact = false;
  for (const std::string_view item : split(power, ',')) {
    const auto equals = item.find('=');
    if (equals == item.npos)
      return invalid("power '{}': write one name for all GPU models, or MODEL=NAME for each: a100-40gb=paper,...",
                     power);
    SMARTMIG_TRY(const auto named, catalog.find(trim(item.substr(0, equals))));
    exact |= named->name() == gpu.name();
    if (named->name() == (exact ? gpu.name() : gpu.tables())) own = trim(item.substr(equals + 1));
  }
  return PowerModel::named(own, gpu);
}

// Plain profiles fill a GPU together. Each profile with double memory leaves compute slices without memory.
double room_of(const GpuModel& gpu, const Profile& profile) {
  const double of_memory = double(profile.memory_slices) * gpu.compute_slices() / gpu.memory_slices();
  switch (profile.variant) {
    case Variant::kPlain:
      return profile.compute_slices;
    case Variant::kHalfMemory:
      return profile.compute_slices / 2.0;
    default:
      return std::max(double(profile.compute_slices), of_memory);
  }
}

}  // namespace

Result<Platform> Platform::parse(std::string_view spec, std::string_view power, const Catalog& catalog) {
  Platform platform;
  platform.spec_ = std::string(spec);
  platform.power_spec_ = std::string(power);
  for (std::string_view part : split(spec, ',')) {
    part = trim(part);
    const auto cross = part.find('x');
    const auto count = cross == part.npos ? std::nullopt : parse_int(part.substr(0, cross));
    if (!count) return invalid("GPUs '{}': write COUNTxMODEL, for example 8xa100-40gb", part);
    if (*count < 1) return invalid("GPUs '{}': at least one GPU is needed", part);
    if (*count > kMaxGpus - std::int64_t(platform.gpus()))
      return invalid("GPUs '{}': more than {} GPUs", spec, kMaxGpus);
    SMARTMIG_TRY(auto gpu, catalog.find(part.substr(cross + 1)));
    std::size_t at = 0;
    while (at < platform.models_.size() && platform.models_[at].gpu->name() != gpu->name()) ++at;
    if (at == platform.models_.size()) {
      SMARTMIG_TRY(PowerModel watts, power_of(power, *gpu, catalog));
      Model model{gpu, std::move(watts),           std::make_shared<ShapeTable>(*gpu, gpu->schedulable_profiles()), {},
                  {},  int(platform.types_.size())};
      if (gpu->compute_slices() > kMaxComputeSlices)
        return invalid("GPU model {} has {} compute slices, at most {} are handled", gpu->name(), gpu->compute_slices(),
                       kMaxComputeSlices);
      for (std::size_t p = 0; p < gpu->profiles().size(); ++p) {
        const Profile& profile = gpu->profiles()[p];
        platform.types_.push_back(
            {int(at), int(p), profile.compute_slices, profile.memory_mib, room_of(*gpu, profile)});
      }
      for (const Placement& placement : gpu->placements()) {
        if (gpu->profiles()[placement.profile].variant == Variant::kHalfMemory)
          model.halves |= 1u << model.type_of_placement.size();
        model.type_of_placement.push_back(TypeId(model.first_type + placement.profile));
        model.slices_of_placement.push_back(std::uint8_t(gpu->profiles()[placement.profile].compute_slices));
      }
      if (platform.types_.size() > 64)
        return invalid("GPUs '{}': too many different models in one fleet (at most 64 slice types)", spec);
      platform.models_.push_back(std::move(model));
    }
    platform.model_of_.insert(platform.model_of_.end(), std::size_t(*count), std::uint8_t(at));
  }
  return platform;
}

bool Platform::power_by_slices_only() const {
  for (const Model& model : models_)
    if (!model.power.is_table()) return false;
  return true;
}

int Platform::total_compute_slices() const {
  int total = 0;
  for (std::uint8_t m : model_of_) total += models_[m].gpu->compute_slices();
  return total;
}

std::string rough_watts(const Platform& platform) {
  std::string models;
  for (const Platform::Model& model : platform.models())
    if (model.power.rough())
      models += fmt::format("{}{} ({:.0f} to {:.0f} W)", models.empty() ? "" : ", ", model.gpu->name(),
                            model.power.idle(), model.power.cap());
  if (models.empty()) return "";
  return fmt::format(
      "joules by the power model are rough, because they follow from the board's power limit: "
      "{}",
      models);
}

}  // namespace smartmig
