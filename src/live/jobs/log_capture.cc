#include "live/jobs/log_capture.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

namespace smartmig {

void LogCapture::open(int directory, std::uint64_t segment_bytes, std::uint64_t copy_bytes) {
  directory_ = directory;
  segment_ = segment_bytes < 4096 ? 4096 : segment_bytes;
  copy_limit_ = copy_bytes;
  log_.fd = ::openat(directory_, "log", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
}

std::size_t LogCapture::put(Sink& sink, const char* data, std::size_t size) {
  std::size_t done = 0;
  while (done < size && sink.fd >= 0) {
    const ssize_t n = ::write(sink.fd, data + done, size - done);
    if (n > 0)
      done += std::size_t(n);
    else if (n == 0 || errno != EINTR)
      break;
  }
  if (done > 0) sink.at_line_start = data[done - 1] == '\n';
  sink.size += done;
  sink.dropped += size - done;
  sink.unsaid += size - done;
  return done;
}

bool LogCapture::say_losses(Sink& sink) {
  if (sink.unsaid == 0) return true;
  char line[80];
  const int length = ::snprintf(line, sizeof line, "%s[smartmig: %llu bytes dropped]\n", sink.at_line_start ? "" : "\n",
                                static_cast<unsigned long long>(sink.unsaid));
  const std::uint64_t before = sink.unsaid, total = sink.dropped;
  const bool whole = put(sink, line, std::size_t(length)) == std::size_t(length);
  sink.unsaid = whole ? 0 : before;  // the line itself is no output of the job
  sink.dropped = total;
  return whole;
}

void LogCapture::rotate() {
  if (::renameat(directory_, "log", directory_, "log.1") != 0) {  // then the segment itself makes room
    if (::ftruncate(log_.fd, 0) != 0 || ::lseek(log_.fd, 0, SEEK_SET) != 0) ::close(log_.fd), log_.fd = -1;
    log_.dropped += log_.size;
    log_.unsaid += log_.size;
    log_.size = 0;
    log_.at_line_start = true;
    return;
  }
  ::close(log_.fd);
  log_.fd = ::openat(directory_, "log", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (old_size_ > 0) {
    log_.dropped += old_size_ - old_note_;
    note_lost_beginning();
  }
  old_size_ = log_.size;
  log_.size = 0;
}

// The oldest part that is left begins with how much there was before it, in the place of its own first bytes.
void LogCapture::note_lost_beginning() {
  char line[80];
  std::size_t length = 0;
  for (int again = 0; again < 3; ++again)  // the bytes below the line count, too, and may make it longer
    length = std::size_t(::snprintf(line, sizeof line, "[smartmig: %llu bytes dropped]\n",
                                    static_cast<unsigned long long>(log_.dropped + length)));
  const int fd = ::openat(directory_, "log.1", O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  const bool whole = fd >= 0 && ::pwrite(fd, line, length, 0) == ssize_t(length);
  if (fd >= 0) ::close(fd);
  old_note_ = whole ? length : 0;
  log_.dropped += old_note_;
}

void LogCapture::write(const char* data, std::size_t size, Sink& copy) {
  const char* const all = data;
  const std::size_t whole = size;
  while (size > 0) {
    if (log_.fd < 0)
      log_.fd = ::openat(directory_, "log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (log_.fd >= 0 && log_.size >= segment_) rotate();
    const bool said = say_losses(log_);
    const std::uint64_t room = log_.size < segment_ ? segment_ - log_.size : segment_;
    const std::size_t part = size < room ? size : std::size_t(room);
    if (said)
      put(log_, data, part);
    else
      log_.dropped += part, log_.unsaid += part;
    data += part;
    size -= part;
  }
  if (copy.fd < 0) return;
  std::size_t part = whole;
  if (copy_limit_ > 0) {
    const std::uint64_t room = copy.size < copy_limit_ ? copy_limit_ - copy.size : 0;
    if (part > room) part = std::size_t(room);
  }
  if (part > 0 && say_losses(copy))
    put(copy, all, part);
  else
    part = 0;
  copy.dropped += whole - part;
  copy.unsaid += whole - part;
}

void LogCapture::finish() {
  for (Sink* sink : {&log_, &copy_, &error_copy_}) {
    say_losses(*sink);
    if (sink->fd >= 0) ::close(sink->fd);
    sink->fd = -1;
  }
}

}  // namespace smartmig
