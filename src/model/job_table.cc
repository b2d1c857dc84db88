#include "model/job_table.h"

#include <cstdlib>

#include "base/text.h"
#include "model/speed.h"

namespace smartmig {
namespace {

// How a slice type's time follows from the reference model's, for one kind.
struct Scaling {
  int compute_slices = 0;  // of the reference size to start from
  double factor = 1;       // work on the type = work on that size * factor
};

int plain_profile_of_size(const GpuModel& gpu, int compute_slices) {
  for (std::size_t i = 0; i < gpu.profiles().size(); ++i)
    if (gpu.profiles()[i].variant == Variant::kPlain && gpu.profiles()[i].compute_slices == compute_slices)
      return int(i);
  return -1;
}

Scaling scaling_for(const GpuModel& reference, const GpuModel& gpu, const Profile& profile, const std::string& kind) {
  const int same = plain_profile_of_size(reference, profile.compute_slices);
  if (gpu.name() == reference.name() && same >= 0 && reference.profiles()[std::size_t(same)].sms == profile.sms)
    return {profile.compute_slices, 1};
  const int whole = plain_profile_of_size(reference, reference.compute_slices());
  if (!kind.empty() && whole >= 0) {
    const auto& speeds = SpeedTable::builtin();
    const auto here = speeds.throughput(kind, gpu.name(), profile.name);
    const auto there = speeds.throughput(kind, reference.name(), reference.profiles()[std::size_t(whole)].name);
    if (here && there && *here > 0) return {reference.compute_slices(), *there / *here};
  }
  if (profile.sms == 0) return {profile.compute_slices, 1};  // SM counts unknown: by slices
  int best = -1;
  for (std::size_t i = 0; i < reference.profiles().size(); ++i) {
    const Profile& candidate = reference.profiles()[i];
    if (candidate.variant != Variant::kPlain || candidate.sms == 0) continue;
    if (best < 0 ||
        std::abs(candidate.sms - profile.sms) < std::abs(reference.profiles()[std::size_t(best)].sms - profile.sms))
      best = int(i);
  }
  if (best < 0) return {profile.compute_slices, 1};
  return {reference.profiles()[std::size_t(best)].compute_slices,
          double(reference.profiles()[std::size_t(best)].sms) / profile.sms};
}

}  // namespace

Result<JobTable> JobTable::bind(std::shared_ptr<const Workload> workload, const Platform& platform) {
  SMARTMIG_TRY(const auto reference, Catalog::builtin().find(workload->reference_gpu));
  JobTable table;
  table.workload_ = std::move(workload);
  const Workload& jobs = *table.workload_;
  const std::size_t types = table.types_ = platform.types().size(), kinds = jobs.kinds.size() + 1;

  std::vector<Scaling> scaling(kinds * types);
  std::vector<int> kind_memory(kinds, -1);
  bool additive = false;
  for (const Platform::Model& model : platform.models()) additive |= !model.power.is_table();
  if (additive) table.added_.resize(kinds * types);
  for (std::size_t k = 0; k < kinds; ++k) {
    const std::string kind = k == 0 ? std::string() : jobs.kinds[k - 1];
    if (k > 0) kind_memory[k] = SpeedTable::builtin().mem_mib(kind).value_or(-1);
    for (std::size_t t = 0; t < types; ++t) {
      const Platform::Model& model = platform.models()[std::size_t(platform.types()[t].model)];
      const Profile& profile = platform.profile(TypeId(t));
      scaling[k * types + t] = scaling_for(*reference, *model.gpu, profile, kind);
      if (additive && !model.power.is_table()) table.added_[k * types + t] = model.power.added(kind, profile);
    }
  }

  table.work_.resize(jobs.jobs.size() * types, kCannotRun);
  for (std::size_t j = 0; j < jobs.jobs.size(); ++j) {
    const Job& job = jobs.jobs[j];
    const int memory = job.mem_mib >= 0 ? job.mem_mib : kind_memory[std::size_t(job.kind + 1)];
    if (memory >= 0 && table.mem_mib_.empty()) table.mem_mib_.resize(jobs.jobs.size(), -1);
    if (memory >= 0) table.mem_mib_[j] = memory;
    bool runs = false;
    for (std::size_t t = 0; t < types; ++t) {
      const SliceType& type = platform.types()[t];
      const Scaling& s = scaling[std::size_t(job.kind + 1) * types + t];
      const Time base = job.work_on(s.compute_slices);
      if (base < Time{0}) continue;
      if (memory >= 0 && type.memory_mib > 0 && memory > type.memory_mib) continue;
      table.work_[j * types + t] = s.factor == 1 ? base : Time(std::llround(double(base.count()) * s.factor));
      runs = true;
    }
    if (!runs)
      return invalid("job {} ({}) fits no slice of {}: it needs {}", jobs.name_of(j),
                     job.kind < 0 ? "no kind" : jobs.kind_of(job), platform.spec(),
                     memory >= 0 ? fmt::format("{} MiB and a slice size its work is given for", memory)
                                 : "a slice size its work is given for");
  }
  return table;
}

}  // namespace smartmig
