#include "job_speed.h"

#include "mig/catalog.h"
#include "model/speed.h"

namespace smartmig::nvsim {
namespace {

// Throughput on the plain profile of that size, measured on `gpu`.
double of_size(const SpeedTable& table, std::string_view kind, const GpuModel& gpu, int slices) {
  for (const Profile& profile : gpu.profiles())
    if (profile.compute_slices == slices && profile.variant == Variant::kPlain)
      if (const auto rate = table.throughput(kind, gpu.name(), profile.name)) return *rate;
  return 0;
}

}  // namespace

Result<double> relative_speed(std::string_view kind, std::string_view gpu, std::string_view profile, int slices) {
  SMARTMIG_TRY(const auto model, Catalog::builtin().find(gpu));
  const int index = model->find_profile(profile);
  if (index < 0) return not_found("{} has no profile {}", gpu, profile);
  const int whole = model->compute_slices(), of_profile = model->profiles()[std::size_t(index)].compute_slices;
  if (slices < 1 || slices > of_profile)
    return invalid("{} has {} compute slices, not {}", profile, of_profile, slices);
  const SpeedTable& table = SpeedTable::builtin();
  const double share = double(slices) / of_profile;
  const auto own = table.throughput(kind, gpu, profile);
  if (const double top = of_size(table, kind, *model, whole); own && top > 0) return *own / top * share;
  for (const auto& other : Catalog::builtin().models()) {
    if (other->compute_slices() != whole) continue;
    const double rate = of_size(table, kind, *other, of_profile), top = of_size(table, kind, *other, whole);
    if (rate > 0 && top > 0) return rate / top * share;
  }
  return double(slices) / whole;
}

}  // namespace smartmig::nvsim
