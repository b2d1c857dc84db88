#include "live/durable_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace smartmig {
namespace {

namespace fs = std::filesystem;

Result<Ok> flush_directory_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  const int fd = ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return io_error("cannot open the directory of {}: {}", path, std::strerror(errno));
  ::fsync(fd);  // some file systems cannot flush a directory; the rename itself is still atomic
  ::close(fd);
  return Ok{};
}

}  // namespace

Result<FileTurn> FileTurn::take(const std::string& path) {
  const std::string lock = path + ".turn";
  const int fd = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return io_error("cannot open {}: {}", lock, std::strerror(errno));
  while (::flock(fd, LOCK_EX) != 0)
    if (errno != EINTR) {
      const int problem = errno;
      ::close(fd);
      return io_error("cannot lock {}: {}", lock, std::strerror(problem));
    }
  return FileTurn(fd);
}

FileTurn::~FileTurn() {
  if (fd_ >= 0) ::close(fd_);
}

Result<Ok> write_durably(const std::string& path, std::string_view text) {
  const std::string temporary = fmt::format("{}.tmp-{}", path, ::getpid());
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return io_error("cannot write {}: {}", path, std::strerror(errno));
  std::size_t done = 0;
  int problem = 0;
  while (done < text.size() && problem == 0) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n >= 0)
      done += std::size_t(n);
    else if (errno != EINTR)
      problem = errno;
  }
  if (problem == 0 && ::fsync(fd) != 0) problem = errno;
  if (::close(fd) != 0 && problem == 0) problem = errno;
  if (problem == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) problem = errno;
  if (problem != 0) {
    ::unlink(temporary.c_str());
    return io_error("cannot write {}: {}", path, std::strerror(problem));
  }
  return flush_directory_of(path);
}

Result<Ok> remove_durably(const std::string& path) {
  if (::unlink(path.c_str()) != 0) {
    if (errno == ENOENT) return Ok{};
    return io_error("cannot remove {}: {}", path, std::strerror(errno));
  }
  return flush_directory_of(path);
}

Result<Ok> make_directories(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path, error))
    return io_error("cannot create the directory {}: {}", path, error ? error.message() : "a file has that name");
  return Ok{};
}

std::vector<std::string> files_in(const std::string& directory, std::string_view prefix, std::string_view suffix) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(prefix) && name.ends_with(suffix) && name.size() >= prefix.size() + suffix.size())
      found.push_back(at->path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace smartmig
