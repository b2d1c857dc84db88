// Which device files the processes of a cgroup may open, on cgroup v2: a BPF program that the kernel asks at each open.
// Of the majors that are named only the named devices; all other devices as before. It is added to what the cgroup has
// (Slurm's own program): both must allow. It stays until the cgroup goes, whatever becomes of who attached it.
#pragma once
#include <linux/bpf.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace smartmig {

using DeviceNumbers = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // major and minor of character devices

std::vector<bpf_insn> device_program(DeviceNumbers allowed);
// kNoPermission, kUnsupported or kIo: in words.
Result<Ok> attach_device_program(const std::string& cgroup, const DeviceNumbers& allowed);

}  // namespace smartmig
