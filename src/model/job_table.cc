#include "model/job_table.h"

#include <cstdlib>

#include "base/text.h"
#include "model/speed.h"

namespace smartmig {
namespace {

int plain_profile_of_size(const GpuModel& gpu, int compute_slices) {
  for (std::size_t i = 0; i < gpu.profiles().size(); ++i)
    if (gpu.profiles()[i].variant == Variant::kPlain && gpu.profiles()[i].compute_slices == compute_slices)
      return int(i);
  return -1;
}

}  // namespace

JobTable::Scaling JobTable::scaling_for(const GpuModel& reference, const GpuModel& gpu, const Profile& profile,
                                        const std::string& kind) {
  const int same = plain_profile_of_size(reference, profile.compute_slices);
  if (gpu.tables() == reference.tables() && same >= 0 && reference.profiles()[std::size_t(same)].sms == profile.sms)
    return {profile.compute_slices, 1};
  const int whole = plain_profile_of_size(reference, reference.compute_slices());
  const auto& speeds = SpeedTable::builtin();
  const Time launch = from_seconds(speeds.launch_s(kind, reference.tables()));
  if (!kind.empty() && whole >= 0) {
    const auto here = speeds.throughput(kind, gpu.tables(), profile.name);
    const auto there = speeds.throughput(kind, reference.tables(), reference.profiles()[std::size_t(whole)].name);
    if (here && there && *here > 0) return {reference.compute_slices(), *there / *here, launch};
  }
  if (profile.sms == 0) return {profile.compute_slices, 1};  // SM counts unknown: scale by slices
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
          double(reference.profiles()[std::size_t(best)].sms) / profile.sms, launch};
}

void JobTable::add_kind(const std::string& kind, const Platform& platform) {
  kind_memory_.push_back(kind.empty() ? -1 : SpeedTable::builtin().mem_mib(kind).value_or(-1));
  for (std::size_t t = 0; t < types_; ++t) {
    const Platform::Model& model = platform.models()[std::size_t(platform.types()[t].model)];
    const Profile& profile = platform.profile(TypeId(t));
    scaling_.push_back(scaling_for(*reference_, *model.gpu, profile, kind));
    if (additive_) added_.push_back(model.power.is_table() ? 0 : model.power.added(kind, profile));
  }
}

// "needs 50000 MiB of GPU memory; the largest slice of 2xa100-40gb, 7g.40gb, has 40320 MiB"
std::string JobTable::why_nowhere(const Job& job, int memory, const Platform& platform) const {
  const SliceType* largest = nullptr;
  std::string sizes;
  for (const SliceType& type : platform.types())
    if (!largest || type.memory_mib > largest->memory_mib) largest = &type;
  if (memory >= 0 && largest && largest->memory_mib > 0 && memory > largest->memory_mib)
    return fmt::format(
        "needs {} MiB of GPU memory; the largest slice of {}, {}, has {} MiB", memory, platform.spec(),
        platform.models()[std::size_t(largest->model)].gpu->profiles()[std::size_t(largest->profile)].name,
        largest->memory_mib);
  for (int k = 1; k <= kMaxComputeSlices; ++k)
    if (job.work_on(k) >= Time{0}) sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", k);
  if (sizes.empty()) return "has no run time for any slice size; give one";
  return fmt::format("runs on {} compute slices of a {}{}; {} has no such slice", sizes, workload_->reference_gpu,
                     memory >= 0 ? fmt::format(" with {} MiB", memory) : "", platform.spec());
}

Result<Ok> JobTable::fill(std::size_t row, const Platform& platform) {
  has_idle_ |= workload_->jobs[row].idle;
  has_crowding_ |= workload_->jobs[row].crowding.log_slowdown != 0;
  const Workload& jobs = *workload_;
  const Job& job = jobs.jobs[row];
  const int memory = job.mem_mib >= 0 ? job.mem_mib : kind_memory_[std::size_t(job.kind + 1)];
  if (memory >= 0 && mem_mib_.empty()) mem_mib_.resize(jobs.jobs.size(), -1);
  if (!mem_mib_.empty()) mem_mib_[row] = memory;
  bool runs = false;
  for (std::size_t t = 0; t < types_; ++t) {
    const SliceType& type = platform.types()[t];
    const Scaling& s = scaling_[std::size_t(job.kind + 1) * types_ + t];
    Time base = job.work_on(s.compute_slices);
    double factor = s.factor;
    if (const Time own = job.work_on(type.compute_slices); type.model == 0) {
      // The profile has another number of SMs than its size: "at least two compute slices" says nothing of SMs.
      if (sizes_are_slices_ && own < Time{0}) continue;
      if (base < Time{0}) base = own, factor = 1;
    }
    if (base < Time{0}) continue;
    if (memory >= 0 && type.memory_mib > 0 && memory > type.memory_mib) continue;
    // Half-memory slices are for jobs known to need no more: the others would find out by failing.
    if (memory <= 0 && platform.profile(TypeId(t)).variant == Variant::kHalfMemory) continue;
    const Time launch = base > s.launch ? s.launch : Time{0};
    work_[row * types_ + t] =
        factor == 1 ? base : launch + Time(std::llround(double((base - launch).count()) * factor));
    runs = true;
  }
  if (!runs) return invalid("job {} {}", jobs.name_of(row), why_nowhere(job, memory, platform));
  return Ok{};
}

Result<JobTable> JobTable::bind(std::shared_ptr<const Workload> workload, const Platform& platform) {
  JobTable table;
  SMARTMIG_TRY(table.reference_, Catalog::builtin().find(workload->reference_gpu));
  table.workload_ = std::move(workload);
  const Workload& jobs = *table.workload_;
  table.types_ = platform.types().size();
  for (const Platform::Model& model : platform.models()) table.additive_ |= !model.power.is_table();
  table.add_kind("", platform);
  for (const std::string& kind : jobs.kinds) table.add_kind(kind, platform);
  table.work_.resize(jobs.jobs.size() * table.types_, kCannotRun);
  for (std::size_t j = 0; j < jobs.jobs.size(); ++j) SMARTMIG_RETURN_IF_ERROR(table.fill(j, platform));
  return table;
}

Result<JobTable> JobTable::growing(const Platform& platform, std::string reference_gpu, std::size_t capacity,
                                   bool sizes_are_slices) {
  auto own = std::make_shared<Workload>();
  own->reference_gpu = std::move(reference_gpu);
  own->source = "live";
  SMARTMIG_TRY(JobTable table, bind(own, platform));
  own->jobs.resize(capacity);
  own->names.resize(capacity);
  table.work_.resize(capacity * table.types_, kCannotRun);
  table.own_ = std::move(own);
  table.sizes_are_slices_ = sizes_are_slices;
  return table;
}

Result<Ok> JobTable::put(JobId id, const Job& job, std::string name, const std::string& kind,
                         const Platform& platform) {
  SMARTMIG_CHECK(own_ && index(id) < size(), "row {} of a table of {} that {}", index(id), size(),
                 own_ ? "grows" : "does not grow");
  const std::size_t row = index(id), kinds = own_->kinds.size();
  own_->jobs[row] = job;
  own_->jobs[row].kind = kind.empty() ? -1 : own_->add_kind(kind);
  if (own_->kinds.size() > kinds) add_kind(kind, platform);
  own_->names[row] = std::move(name);
  auto filled = fill(row, platform);
  if (!filled) own_->jobs[row] = Job{};
  return filled;
}

}  // namespace smartmig
