// Keeps a job from the device files of other jobs' slices, in the cgroup that the engine creates for it (Slurm:
// ConstrainDevices in cgroup.conf). Slurm itself cannot do this: it reads gres.conf once, but slices change. Among the
// majors of the job's own device files (/dev/nvidiaN, /dev/nvidia-caps/*), the job may open only its own files; other
// devices stay as the engine configured them.
//   v2  a BPF program (device_program.h), attached once: it also denies slices that are created later
//   v1  lines for devices.deny, one for each other file that exists: repeated, since a slice that is created later has new
//       files
// Any thread.
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
