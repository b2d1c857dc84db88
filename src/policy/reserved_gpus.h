// GPUs that are kept for some jobs for a time, around any policy. A window names GPUs, a begin, an end and a tag; jobs
// with that tag (Job::reservation) run there and then, and nowhere else; all others run elsewhere.
//
//   window is on     its GPUs take the jobs of its tag alone
//   window to come   its GPUs take no job that would still run when it begins, by its expected finish. What fits into
//                    the time until then is put there after all that can go elsewhere.
//   overruns         what runs is left alone: a job of others that is not done when a window begins runs on, and so does
//                    one of the window when it ends.
//
// The inner policy knows nothing of this: it is asked about copies of the cluster in which other GPUs are blocked and
// jobs that do not belong are gone, one copy for all that is open to everybody, one for each window that is on, one for the
// time before the windows. Each has a policy of its own, made when first needed. Where no window matters the
// policy sees the cluster itself. A copy costs O(rows of the job table). The plan asks for a decision at the
// next begin or end. Goes around BoundedOvertaking and inside the power cap. Thread rule: one owner.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "sched/policy.h"

namespace smartmig {

struct GpuWindow {
  std::uint64_t tag = 0;
  std::vector<GpuId> gpus;
  Time begin{}, end{};
  bool on(Time now) const { return begin <= now && now < end; }
};
using GpuWindows = std::vector<GpuWindow>;  // those of one GPU do not overlap

// The window that is on there; nullptr: none.
const GpuWindow* window_on(const GpuWindows& windows, GpuId gpu, Time now);
// The next one there; nullptr: none.
const GpuWindow* window_after(const GpuWindows& windows, GpuId gpu, Time now);
// The window that keeps the job from a slice of this type if it were to start now; nullptr: none does.
const GpuWindow* window_against(const GpuWindows& windows, const Cluster& cluster, JobId job, GpuId gpu, TypeId type);

class ReservedGpus : public Policy {
 public:
  using Maker = std::function<std::unique_ptr<Policy>()>;
  // `windows` may change between decisions.
  ReservedGpus(std::unique_ptr<Policy> inner, std::shared_ptr<const GpuWindows> windows, Maker another)
      : inner_(std::move(inner)), windows_(std::move(windows)), another_(std::move(another)) {}
  void decide(const Cluster& cluster, Plan& plan) override;
  std::vector<PlannedStart> planned_starts(const Cluster& cluster) const override;

 private:
  struct Part {  // what one policy is asked about
    Policy* policy = nullptr;
    Cluster view;
  };
  enum class Open : std::uint8_t { kToAll, kBeforeWindow, kInWindow };
  void look(const Cluster& cluster);
  bool fits_before(const Cluster& cluster, JobId job) const;
  void ask(Policy& policy, const Cluster& cluster, const std::function<bool(GpuId)>& gpu_is_in,
           const std::function<bool(JobId)>& job_is_in, Plan& plan);
  void fill_before_windows(const Cluster& cluster, Plan& plan);
  void start_in_time(const Cluster& cluster, JobId job, Plan& plan) const;
  Policy& policy_of(std::uint64_t tag);

  std::unique_ptr<Policy> inner_;
  std::shared_ptr<const GpuWindows> windows_;
  Maker another_;
  std::map<std::uint64_t, std::unique_ptr<Policy>> others_;  // by tag; 0: for the time before windows
  std::vector<Open> open_;                                   // by GPU, at this decision
  std::vector<JobId> waiting_;
  bool apart_ = false;       // some GPU or job is not open to all
  std::vector<Part> parts_;  // of the last decision, where it was apart
  std::uint64_t asked_about_ = 0;
};

}  // namespace smartmig
