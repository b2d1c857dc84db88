// The jobs of a workload bound to a platform: the time of each job on each slice type, memory already considered. Every
// run over the same jobs shares it, read only (paired comparisons, parallel days, the trainer's copies).
//
// Times on the reference model are the job's own. On another model, or a double-memory profile with another SM count:
//   1. by the kind's measured speeds:
//        work = work(ref, whole GPU) * throughput(ref, whole) / throughput(model, profile)
//   2. else by SM count, k the reference size nearest in SMs:
//        work = work(ref, k) * SM(ref, k) / SM(profile)
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "model/platform.h"
#include "model/workload.h"

namespace smartmig {

class JobTable {
 public:
  // kInvalid if a job fits no slice of the platform; names the job and its needs.
  static Result<JobTable> bind(std::shared_ptr<const Workload> workload, const Platform& platform);

  // A table that fills while it is in use (the daemon's). It has `capacity` rows for jobs that have not arrived. A row
  // is put before its job is submitted and never changes afterwards. To share the table with another thread, copy it.
  static Result<JobTable> growing(const Platform& platform, std::string reference_gpu, std::size_t capacity,
                                  bool sizes_are_slices = false);
  // kInvalid if the job fits no slice: names it and its needs, and the row stays empty.
  Result<Ok> put(JobId id, const Job& job, std::string name, const std::string& kind, const Platform& platform);

  std::size_t size() const { return workload_->jobs.size(); }
  const Workload& workload() const { return *workload_; }
  const Job& job(JobId id) const { return workload_->jobs[index(id)]; }
  Time work(JobId id, TypeId type) const { return work_[index(id) * types_ + index(type)]; }
  std::span<const Time> work_row(JobId id) const { return {work_.data() + index(id) * types_, types_}; }
  // Watts the job adds on that type, for additive power models (0 for table models).
  double added_watts(JobId id, TypeId type) const {
    return added_.empty() ? 0 : added_[std::size_t(workload_->jobs[index(id)].kind + 1) * types_ + index(type)];
  }
  bool has_idle() const { return has_idle_; }          // whether a job of the table has ever drawn nothing
  bool has_crowding() const { return has_crowding_; }  // whether neighbours have ever slowed a job of the table
  int mem_mib(JobId id) const { return mem_mib_.empty() ? -1 : mem_mib_[index(id)]; }

 private:
  void add_kind(const std::string& kind, const Platform& platform);
  Result<Ok> fill(std::size_t row, const Platform& platform);
  std::string why_nowhere(const Job& job, int memory, const Platform& platform) const;

  std::shared_ptr<const Workload> workload_;
  bool sizes_are_slices_ =
      false;  // a job without a time for a number of compute slices cannot use such a slice, whatever its SMs
  std::shared_ptr<Workload> own_;  // the same object, if the table grows
  // How one kind's time on a slice type follows from the reference model: the time on `compute_slices`, without the
  // launch, times `factor`.
  struct Scaling {
    int compute_slices = 0;
    double factor = 1;
    Time launch{};
  };
  static Scaling scaling_for(const GpuModel& reference, const GpuModel& gpu, const Profile& profile,
                             const std::string& kind);
  std::shared_ptr<const GpuModel> reference_;
  std::vector<Scaling> scaling_;  // [kind + 1][type]
  std::vector<int> kind_memory_;  // [kind + 1]; -1 unknown
  bool additive_ = false, has_idle_ = false, has_crowding_ = false;
  std::size_t types_ = 0;
  std::vector<Time> work_;     // [job][type]
  std::vector<double> added_;  // [kind + 1][type]; empty when every power model is a table
  std::vector<int> mem_mib_;   // the job's own or its kind's; empty when no job has one
};

}  // namespace smartmig
