#include "cluster/memory_failure.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "live/jobs/oom_words.h"

namespace smartmig {
namespace {

constexpr off_t kLogEnd = 64 * 1024;

struct LogFd {
  int fd;
  explicit LogFd(int number) : fd(number) {}
  LogFd(const LogFd&) = delete;
  LogFd& operator=(const LogFd&) = delete;
  ~LogFd() {
    if (fd >= 0) ::close(fd);
  }
};

// O_PATH opens nothing: what lies there is judged first, so no pipe or device is touched.
std::string end_of_own_log(const std::string& path, std::uint32_t owner) {
  const LogFd there(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (there.fd < 0 || ::fstat(there.fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != owner) return {};
  const std::string same = "/proc/self/fd/" + std::to_string(there.fd);
  const LogFd file(::open(same.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (file.fd < 0) return {};
  const off_t begin = std::max<off_t>(0, status.st_size - kLogEnd);
  std::string text(std::size_t(status.st_size - begin), '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t piece = ::pread(file.fd, text.data() + got, text.size() - got, begin + off_t(got));
    if (piece <= 0) break;
    got += std::size_t(piece);
  }
  text.resize(got);
  return text;
}

}  // namespace

std::optional<MemoryFailure> memory_failure_in(const std::vector<std::string>& logs, std::uint32_t owner,
                                               const std::vector<std::string>& patterns) {
  for (const std::string& log : logs) {
    const std::string text = end_of_own_log(log, owner);
    for (const std::string& pattern : patterns)
      if (!pattern.empty() && text.find(pattern) != text.npos) return MemoryFailure{refused_request_mib(text)};
  }
  return std::nullopt;
}

}  // namespace smartmig
