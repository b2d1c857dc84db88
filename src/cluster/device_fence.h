// Keeps a job from the device files of other jobs' slices, in the cgroup that its engine makes for it (Slurm:
// ConstrainDevices in cgroup.conf). Slurm itself cannot: its gres.conf is read once, slices come and go. Of the majors
// that the job's own device files have (/dev/nvidiaN, /dev/nvidia-caps/*) it may open its own files alone; other
// devices stay as the engine has them.
//   v2  a BPF program (device_program.h), once: slices that are made later are closed to it, too
//   v1  lines for devices.deny, one for each file that is there next to its own: to be repeated, since a slice that is made
//       later has new files
// Thread rule: free.
#pragma once
#include <functional>

#include "live/jobs/device_program.h"

namespace smartmig {

class DeviceFence {
 public:
  using Attach = std::function<Result<Ok>(const std::string& cgroup, const DeviceNumbers& allowed)>;
  struct JobCgroup {
    std::string devices_v1, v2;  // folders; empty: there is none
  };
  using Find = std::function<JobCgroup(std::uint32_t job)>;
  explicit DeviceFence(Find find, Attach attach = add_device_program)
      : find_(std::move(find)), attach_(std::move(attach)) {}

  enum class Kind { kOnce, kRepeat };  // v2, v1
  // `devices`: files of the job. kNotFound: the job has no cgroup yet. kUnsupported: none of them is a device.
  Result<Kind> fence(std::uint32_t job, const std::vector<std::string>& devices) const;

 private:
  Find find_;
  Attach attach_;
};

}  // namespace smartmig
