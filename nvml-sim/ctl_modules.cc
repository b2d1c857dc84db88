#include "ctl_modules.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "ctl_views.h"

namespace smartmig::nvsim {
namespace {

constexpr char kModules[] = "/proc/modules";

enum class Kind { kOpen, kStat, kStatx, kAccess };
struct PathCall {
  int number;
  Kind kind;
  int path;   // which argument is the path
  int other;  // of open: the flags, -1 none; of stat: where the answer goes
};
constexpr PathCall kPathCalls[] = {
#ifdef SYS_open
    {SYS_open, Kind::kOpen, 0, 1},      {SYS_stat, Kind::kStat, 0, 1},         {SYS_lstat, Kind::kStat, 0, 1},
    {SYS_access, Kind::kAccess, 0, -1},
#endif
    {SYS_openat, Kind::kOpen, 1, 2},    {SYS_openat2, Kind::kOpen, 1, -1},     {SYS_newfstatat, Kind::kStat, 1, 2},
    {SYS_statx, Kind::kStatx, 1, 4},    {SYS_faccessat, Kind::kAccess, 1, -1}, {SYS_faccessat2, Kind::kAccess, 1, -1},
};

#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr unsigned kArchitecture = 0;
#endif

int install_listener() {
  std::vector<sock_filter> code = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, unsigned(offsetof(seccomp_data, arch))),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, unsigned(offsetof(seccomp_data, nr))),
  };
  for (const PathCall& call : kPathCalls) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, unsigned(call.number), 0, 1));
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  return int(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
}

bool names_modules(int pid, std::uint64_t address) {
  char path[sizeof kModules] = {};
  iovec here{path, sizeof path}, there{reinterpret_cast<void*>(address), sizeof path};
  return ::process_vm_readv(pid, &here, 1, &there, 1, 0) == ssize_t(sizeof path) &&
         std::memcmp(path, kModules, sizeof path) == 0;
}

template <class T>
int put_into(int pid, std::uint64_t address, T& facts) {  // an errno
  iovec here{&facts, sizeof facts}, there{reinterpret_cast<void*>(address), sizeof facts};
  return ::process_vm_writev(pid, &here, 1, &there, 1, 0) == ssize_t(sizeof facts) ? 0 : EFAULT;
}

// Answers one call. The kernel's structs may be longer than the header's: they are given room.
class Answerer {
 public:
  Answerer(int listener, int file) : listener_(listener), file_(file) {}

  bool next() {  // false: nobody is left to answer
    pollfd waiting{listener_, POLLIN, 0};
    if (::poll(&waiting, 1, -1) < 0) return errno == EINTR;
    if (!(waiting.revents & POLLIN)) return false;
    alignas(8) char room[512] = {};
    auto& asked = *reinterpret_cast<seccomp_notif*>(room);
    if (::ioctl(listener_, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) return errno == EINTR || errno == ENOENT;
    const auto call = std::find_if(std::begin(kPathCalls), std::end(kPathCalls),
                                   [&](const PathCall& one) { return one.number == asked.data.nr; });
    const int pid = int(asked.pid);
    if (call == std::end(kPathCalls) || !names_modules(pid, asked.data.args[call->path]))
      return reply(asked.id, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
    switch (call->kind) {
      case Kind::kOpen:
        return give_file(asked.id, call->other < 0 || (asked.data.args[call->other] & O_CLOEXEC));
      case Kind::kStat: {
        struct stat facts {};
        ::fstat(file_, &facts);
        return reply(asked.id, put_into(pid, asked.data.args[call->other], facts), 0);
      }
      case Kind::kStatx: {
        struct statx facts {};
        ::statx(file_, "", AT_EMPTY_PATH, unsigned(asked.data.args[3]), &facts);
        return reply(asked.id, put_into(pid, asked.data.args[call->other], facts), 0);
      }
      case Kind::kAccess:
        break;
    }
    return reply(asked.id, 0, 0);
  }

 private:
  bool reply(std::uint64_t id, int error, unsigned flags) const {
    alignas(8) char room[512] = {};
    auto& answer = *reinterpret_cast<seccomp_notif_resp*>(room);
    answer.id = id;
    answer.error = -error;
    answer.flags = flags;
    return ::ioctl(listener_, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0 || errno == ENOENT || errno == EINTR;
  }
  // Opened anew for each: readers must not share their position in it.
  bool give_file(std::uint64_t id, bool close_on_exec) const {
    const int fresh = ::open(fmt::format("/proc/self/fd/{}", file_).c_str(), O_RDONLY | O_CLOEXEC);
    seccomp_notif_addfd add{};
    add.id = id;
    add.flags = SECCOMP_ADDFD_FLAG_SEND;
    add.srcfd = std::uint32_t(fresh);
    add.newfd_flags = close_on_exec ? O_CLOEXEC : 0;
    const bool sent = fresh >= 0 && ::ioctl(listener_, SECCOMP_IOCTL_NOTIF_ADDFD, &add) >= 0;
    if (fresh >= 0) ::close(fresh);
    return sent || reply(id, EACCES, 0);
  }
  int listener_, file_;
};

// One byte, and beside it room for a descriptor.
struct DescriptorMessage {
  char byte = 0;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec part{&byte, 1};
  msghdr message{};
  DescriptorMessage() {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
};

bool send_descriptor(int socket, int fd) {
  DescriptorMessage one;
  cmsghdr* header = CMSG_FIRSTHDR(&one.message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  return ::sendmsg(socket, &one.message, 0) == 1;
}

int receive_descriptor(int socket) {
  DescriptorMessage one;
  int fd = -1;
  if (::recvmsg(socket, &one.message, MSG_CMSG_CLOEXEC) != 1) return -1;
  if (const cmsghdr* header = CMSG_FIRSTHDR(&one.message)) std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return fd;
}

// In the background and of no terminal, so that neither its caller's pipes nor a Ctrl-C concern it.
[[noreturn]] void answer_until_nobody_is_left(int socket, int file) {
  ::setsid();
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; ++fd) ::dup2(nowhere, fd);
  Answerer answerer(receive_descriptor(socket), file);
  ::close(socket);
  while (answerer.next()) {
  }
  ::_exit(0);
}

}  // namespace

Result<Ok> answer_for_modules(const std::string& directory) {
  if (::access(kModules, F_OK) == 0) return Ok{};
  const std::string path = directory + kModules;
  SMARTMIG_RETURN_IF_ERROR(write_file(path, modules_with_driver("")));
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  int ends[2] = {-1, -1};
  if (file < 0 || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return io_error("{}: {}", path, std::strerror(errno));
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    if (::fork() != 0) ::_exit(0);
    answer_until_nobody_is_left(ends[1], file);
  }
  ::waitpid(child, nullptr, 0);
  ::close(ends[1]);
  ::close(file);
  const int listener = child > 0 ? install_listener() : -1;
  const int error = errno;
  const bool sent = listener >= 0 && send_descriptor(ends[0], listener);
  if (listener >= 0) ::close(listener);
  ::close(ends[0]);
  if (listener >= 0 && !sent) return io_error("nobody could be asked to answer for {}", kModules);
  if (listener < 0)
    fmt::print(stderr, "nvml-sim-ctl: not shown: this kernel has no {}, and lets nobody answer for it: {}\n", kModules,
               std::strerror(error));
  return Ok{};
}

}  // namespace smartmig::nvsim
