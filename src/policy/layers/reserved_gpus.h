// Keeps GPUs for some jobs for a time, around any policy. A window has GPUs, a begin, an end and a tag. Jobs with that
// tag (Job::reservation) run only there and then; all others run elsewhere.
//
//   window is on     its GPUs take only the jobs of its tag
//   window to come   its GPUs take no job that would still run at its begin, by its expected finish. Jobs that fit into
//                    the time until then start there after all jobs that can run elsewhere.
//   overruns         running jobs are left alone: another job that still runs at the begin of a window continues, and
//                    so does one of the window at its end.
//
// The inner policy does not know the windows. It decides on copies of the cluster in which the other GPUs are blocked
// and the other jobs are gone: one copy for what is open to everybody, one for each active window, one for the time
// before the windows. Each copy has its own policy, made when first needed. If no window matters, the policy sees the
// cluster itself. A copy costs O(rows of the job table). The plan asks for a decision at the next begin or end. This
// layer wraps BoundedOvertaking and is inside the power cap. Thread rule: one owner.
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
using GpuWindows = std::vector<GpuWindow>;  // windows of one GPU do not overlap

// The active window of the GPU; nullptr: none.
const GpuWindow* window_on(const GpuWindows& windows, GpuId gpu, Time now);
// The GPU's next window; nullptr: none.
const GpuWindow* window_after(const GpuWindows& windows, GpuId gpu, Time now);
// The window that forbids the job to start on a slice of this type now; nullptr: none.
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
  struct Part {  // a sub-cluster for one policy
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
  bool apart_ = false;       // whether some GPU or job is not open to all
  std::vector<Part> parts_;  // of the last decision, if it was apart
  std::uint64_t asked_about_ = 0;
};

}  // namespace smartmig
