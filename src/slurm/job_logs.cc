#include "slurm/job_logs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "serve/daemon/oom_words.h"

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

// Empty: not known.
std::string expanded(std::string_view pattern, const SlurmJob& job) {
  if (pattern.find('\\') != pattern.npos) return {};  // then sbatch expands nothing
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      out += pattern[i];
      continue;
    }
    std::size_t width = 0;
    while (++i < pattern.size() && pattern[i] >= '0' && pattern[i] <= '9' && width < 10)
      width = 10 * width + std::size_t(pattern[i] - '0');
    if (i == pattern.size()) return {};
    std::string value;
    switch (pattern[i]) {
      case '%':
        value = "%";
        break;
      case 'A':
        value = std::to_string(job.name.id);
        break;
      case 'a':
        value = job.name.task < 0 ? "4294967294" : std::to_string(job.name.task);
        break;
      case 'j':
      case 'J':
        value = std::to_string(job.number);
        break;
      case 'N':
        value = job.nodes;
        break;
      case 'u':
        value = job.user;
        break;
      case 'x':
        value = job.title;
        break;
      default:
        return {};
    }
    if (width > value.size() && std::string_view("Aaj").find(pattern[i]) != std::string_view::npos)
      value.insert(0, std::min<std::size_t>(width, 10) - value.size(), '0');
    out += value;
  }
  if (out.starts_with('/')) return out;
  return job.directory.starts_with('/') ? job.directory + "/" + out : std::string();
}

}  // namespace

std::vector<std::string> log_paths(const SlurmJob& job) {
  std::vector<std::string> out;
  const std::string usual = job.name.task < 0 ? "slurm-%j.out" : "slurm-%A_%a.out";
  for (const std::string& pattern : {job.output.empty() ? usual : job.output, job.errors})
    if (std::string path = pattern.empty() ? std::string() : expanded(pattern, job); !path.empty())
      out.push_back(std::move(path));
  return out;
}

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
