#include "live/jobs/device_program.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "base/errors.h"

namespace smartmig {
namespace {

constexpr std::uint8_t kLoad32 = BPF_LDX | BPF_MEM | BPF_W, kMove = BPF_ALU64 | BPF_MOV | BPF_K,
                       kAnd = BPF_ALU64 | BPF_AND | BPF_K, kEqual = BPF_JMP | BPF_JEQ | BPF_K,
                       kDiffers = BPF_JMP | BPF_JNE | BPF_K, kExit = BPF_JMP | BPF_EXIT;

bpf_insn instruction(std::uint8_t code, int to, int from, int offset, std::int32_t value) {
  bpf_insn out{};
  out.code = code;
  out.dst_reg = std::uint8_t(to) & 15;
  out.src_reg = std::uint8_t(from) & 15;
  out.off = std::int16_t(offset);
  out.imm = value;
  return out;
}

Error failed(const char* what) {
  const int code = errno;
  const std::string words = fmt::format("{}: {}", what, std::strerror(code));
  if (code == EPERM || code == EACCES) return no_permission("{}", words);
  if (code == EINVAL || code == ENOSYS) return unsupported("{}", words);
  return io_error("{}", words);
}

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

std::vector<bpf_insn> device_program(const DeviceNumbers& allowed, OtherDevices others) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> minors;
  for (const auto& [major, minor] : allowed) minors[major].push_back(minor);
  // r1: the question {access_type, major, minor}; r2: its major; r3: its minor; r0: the answer.
  std::vector<bpf_insn> out = {
      instruction(kLoad32, 2, 1, offsetof(bpf_cgroup_dev_ctx, access_type), 0),
      instruction(kAnd, 2, 0, 0, 0xFFFF),
      instruction(kDiffers, 2, 0, 0, BPF_DEVCG_DEV_CHAR),
      instruction(kLoad32, 2, 1, offsetof(bpf_cgroup_dev_ctx, major), 0),
      instruction(kLoad32, 3, 1, offsetof(bpf_cgroup_dev_ctx, minor), 0),
  };
  std::vector<std::size_t> to_others = {2}, to_yes;
  for (const auto& [major, list] : minors) {
    if (std::find(list.begin(), list.end(), kAnyMinor) != list.end()) {
      to_yes.push_back(out.size());
      out.push_back(instruction(kEqual, 2, 0, 0, std::int32_t(major)));
      continue;
    }
    out.push_back(instruction(kDiffers, 2, 0, int(list.size()) + 2, std::int32_t(major)));
    for (const std::uint32_t minor : list) {
      to_yes.push_back(out.size());
      out.push_back(instruction(kEqual, 3, 0, 0, std::int32_t(minor)));
    }
    out.push_back(instruction(kMove, 0, 0, 0, 0));
    out.push_back(instruction(kExit, 0, 0, 0, 0));
  }
  const auto answer = [&](const std::vector<std::size_t>& from, int value) {
    for (const std::size_t at : from) out[at].off = std::int16_t(out.size() - at - 1);
    out.push_back(instruction(kMove, 0, 0, 0, value));
    out.push_back(instruction(kExit, 0, 0, 0, 0));
  };
  answer(to_others, others == OtherDevices::kOfOtherMajors ? 1 : 0);
  if (!to_yes.empty()) answer(to_yes, 1);  // the kernel refuses a program with a part that nothing leads to
  return out;
}

namespace {

Result<Ok> attach(const std::string& cgroup, const std::vector<bpf_insn>& code, std::uint32_t flags) {
  bpf_attr load{};
  load.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  load.insn_cnt = std::uint32_t(code.size());
  load.insns = std::uint64_t(reinterpret_cast<std::uintptr_t>(code.data()));
  load.license = std::uint64_t(reinterpret_cast<std::uintptr_t>("Proprietary"));  // it calls nothing of the kernel
  const Fd program(int(::syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof load)));
  if (program.get() < 0) return failed("loading a BPF program for devices");
  const Fd group(::open(cgroup.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (group.get() < 0) return failed(cgroup.c_str());
  bpf_attr how{};
  how.target_fd = std::uint32_t(group.get());
  how.attach_bpf_fd = std::uint32_t(program.get());
  how.attach_type = BPF_CGROUP_DEVICE;
  how.attach_flags = flags;
  if (::syscall(SYS_bpf, BPF_PROG_ATTACH, &how, sizeof how) != 0) return failed("attaching it to the cgroup");
  return Ok{};
}

}  // namespace

Result<Ok> add_device_program(const std::string& cgroup, const DeviceNumbers& allowed) {
  return attach(cgroup, device_program(allowed, OtherDevices::kOfOtherMajors), BPF_F_ALLOW_MULTI);
}

Result<Ok> set_device_program(const std::string& cgroup, const DeviceNumbers& allowed) {
  return attach(cgroup, device_program(allowed, OtherDevices::kClosed), 0);
}

}  // namespace smartmig
