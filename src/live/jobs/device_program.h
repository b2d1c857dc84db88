// Which device files the processes of a cgroup may open, on cgroup v2: a BPF program that the kernel asks at each open.
// It stays until the cgroup goes, whatever becomes of the process that attached it. A group that smartmig did not
// create keeps the programs that it has: all of them must allow a device.
#pragma once
#include <linux/bpf.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace smartmig {

using DeviceNumbers = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // major and minor of character devices
inline constexpr std::uint32_t kAnyMinor = 0xFFFFFFFF;

enum class OtherDevices {
  kOfOtherMajors,  // devices of a major that is named are closed, all others stay open
  kClosed,         // every other device is closed, block devices too
};
std::vector<bpf_insn> device_program(const DeviceNumbers& allowed, OtherDevices others);

// Both: kNoPermission, kUnsupported or kIo, in words.
// Beside the programs of the group, for devices of the named majors alone.
Result<Ok> add_device_program(const std::string& cgroup, const DeviceNumbers& allowed);
// The only program of a group of our own, all other devices closed: it replaces the one that was set before.
Result<Ok> set_device_program(const std::string& cgroup, const DeviceNumbers& allowed);

}  // namespace smartmig
