#include "http/log_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace smartmig {
namespace {

constexpr std::size_t kLogPiece = 64 << 10;

bool same_file(const struct stat& a, const struct stat& b) { return a.st_ino == b.st_ino && a.st_dev == b.st_dev; }

}  // namespace

Result<std::unique_ptr<ReplyStream>> LogStream::open(Service& service, const Caller& caller, const Ask& ask) {
  SMARTMIG_TRY(auto log, service.log(caller, ask.job, ask.attempt));
  std::unique_ptr<LogStream> stream(new LogStream(service, caller, ask, std::move(log)));
  SMARTMIG_TRY(const bool there, stream->open_next());
  if (!there && stream->log_.ended)
    return not_found("the log of job {} has been deleted, because logs have limits of size and age", ask.job);
  stream->skip();
  return std::unique_ptr<ReplyStream>(std::move(stream));
}

LogStream::~LogStream() {
  if (fd_ >= 0) ::close(fd_);
}

void LogStream::skip() {
  for (std::int64_t left = ask_.offset; fd_ >= 0;) {
    struct stat file {};
    if (::fstat(fd_, &file) != 0) return;
    at_ = std::min<std::int64_t>(left, file.st_size);
    left -= at_;
    const auto next = left > 0 ? open_next() : Result<bool>(false);
    if (!next || !*next) return;
  }
}

Result<bool> LogStream::open_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT) return false;
    return io_error("cannot read the log {}: {}", path, std::strerror(errno));
  }
  struct stat file {};
  if (::fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) {
    ::close(fd);
    return io_error("the log {} is not a regular file", path);
  }
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
  at_ = 0;
  return true;
}

Result<bool> LogStream::open_next() {
  const std::string older = log_.path + ".1";
  struct stat ours {
  }, old{}, now{};
  const bool has_old = ::lstat(older.c_str(), &old) == 0, has_now = ::lstat(log_.path.c_str(), &now) == 0;
  if (fd_ >= 0) {
    if (::fstat(fd_, &ours) != 0) return io_error("cannot read the log {}: {}", log_.path, std::strerror(errno));
    if (has_now && same_file(ours, now) && ours.st_size >= at_) return false;
    if (has_now && same_file(ours, now)) {  // it was cut
      at_ = 0;
      return true;
    }
    if (ours.st_size > at_) return true;  // written to between our reading and its renaming
    if (has_old && same_file(ours, old)) return has_now ? open_file(log_.path) : Result<bool>(false);
  }
  if (has_old) {
    SMARTMIG_TRY(const bool opened, open_file(older));
    if (opened) return true;
  }
  return open_file(log_.path);
}

ReplyStream::Step LogStream::pull(std::string& out) {
  for (int round = 0; round < 4; ++round) {
    if (fd_ >= 0) {
      const std::size_t before = out.size();
      out.resize(before + kLogPiece);
      const ssize_t n = ::pread(fd_, out.data() + before, kLogPiece, at_);
      out.resize(before + std::size_t(std::max<ssize_t>(n, 0)));
      if (n < 0 && errno != EINTR) return kEnd;
      if (n > 0) {
        at_ += n;
        return kData;
      }
    }
    const auto next = open_next();
    if (!next) return kEnd;
    if (*next) continue;
    if (!ask_.follow || log_.ended) return kEnd;
    const std::string path = log_.path;
    const auto log = service_.log(caller_, ask_.job, ask_.attempt);
    if (!log) return kEnd;
    if (log->path != path) {  // the last attempt is another one by now: ours has ended
      log_.ended = true;
      continue;
    }
    log_ = *log;
    if (!log_.ended) return kWait;
  }
  return kWait;
}

}  // namespace smartmig
