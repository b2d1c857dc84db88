#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>

#include "supervisor.h"

namespace smartmig::supervisor {
namespace {

constexpr std::size_t kEndingBytes = 4096;
char buffer[16384];

bool write_all(int fd, const char* data, std::size_t size) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t n = ::write(fd, data + done, size - done);
    if (n > 0)
      done += std::size_t(n);
    else if (n == 0 || errno != EINTR)
      return false;
  }
  return true;
}

std::int64_t now_us(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t(now.tv_sec) * 1000000 + now.tv_nsec / 1000;
}

}  // namespace

void Words::add(const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int n = ::vsnprintf(text + length, sizeof text - length, format, list);
  va_end(list);
  if (n > 0) length += std::size_t(n) < sizeof text - length ? std::size_t(n) : sizeof text - length - 1;
}

std::int64_t unix_us() { return now_us(CLOCK_REALTIME); }
std::int64_t monotonic_us() { return now_us(CLOCK_MONOTONIC); }
std::int64_t boot_us() { return now_us(CLOCK_BOOTTIME); }

ssize_t read_text(const char* path, char* out, std::size_t size) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  std::size_t done = 0;
  while (done + 1 < size) {
    const ssize_t n = ::read(fd, out + done, size - 1 - done);
    if (n > 0)
      done += std::size_t(n);
    else if (n == 0 || errno != EINTR)
      break;
  }
  ::close(fd);
  out[done] = 0;
  return ssize_t(done);
}

bool write_text(const char* path, const char* text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t size = ssize_t(::strlen(text)), n = ::write(fd, text, std::size_t(size));
  const int error = n == size ? 0 : errno;
  ::close(fd);
  errno = error;
  return n == size;
}

std::uint64_t own_start_ticks() {
  if (read_text("/proc/self/stat", buffer, sizeof buffer) <= 0) return 0;
  const char* at = ::strrchr(buffer, ')');
  for (int field = 2; at && field < 22; ++field) at = ::strchr(at + 1, ' ');
  return at ? ::strtoull(at + 1, nullptr, 10) : 0;
}

// A POSIX lock: it belongs to this process alone (not to the job that is forked from it), goes with it however it dies,
// and tells its holder's pid to whoever asks.
bool take_lock() {
  const int fd = ::openat(kDirectoryFd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return false;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  while (::fcntl(fd, F_SETLK, &lock) != 0)
    if (errno != EINTR) return false;
  return true;  // the descriptor stays open for our life
}

// Whoever gives an attempt up removes this file first, before the lock: a lock that is made anew in the emptied directory
// proves nothing.
bool place_is_ours() { return ::faccessat(kDirectoryFd, "origin", F_OK, 0) == 0; }

Made make_record(const Job& job, std::uint64_t ticks, int& error) {
  const LaunchHead& head = *job.head;
  std::size_t length = 0;
  const auto add = [&](const char* format, auto... values) {
    if (length < sizeof buffer)
      length += std::size_t(::snprintf(buffer + length, sizeof buffer - length, format, values...));
  };
  add("smartmig-attempt 1\njob %llu\nattempt %d\nboot %s\npid %d\nstarted %llu\ntoken %s\n",
      (unsigned long long)head.job, int(head.attempt), job.text(head.boot_id), int(::getpid()),
      (unsigned long long)ticks, job.text(head.token));
  for (std::uint32_t i = 0; i < head.cgroups.count; ++i) add("cgroup %s\n", job.item(head.cgroups, i));
  add("end\n%s", "");
  error = ENAMETOOLONG;
  if (length >= sizeof buffer) return Made::kFailed;

  const int fd = ::openat(kDirectoryFd, "record.tmp", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return error = errno, Made::kFailed;
  const bool whole = write_all(fd, buffer, length) && ::fsync(fd) == 0;
  error = errno;
  ::close(fd);
  // link() creates the name exclusively, as O_EXCL does, but with the text already in it.
  Made made = Made::kFailed;
  if (whole) {
    if (::linkat(kDirectoryFd, "record.tmp", kDirectoryFd, "record", 0) == 0)
      made = Made::kMade;
    else
      error = errno, made = error == EEXIST ? Made::kExists : Made::kFailed;
  }
  ::unlinkat(kDirectoryFd, "record.tmp", 0);
  if (made == Made::kMade && ::fsync(kDirectoryFd) != 0 && errno == EIO) error = errno, made = Made::kFailed;
  // The directories above may be new too.
  for (const char* above : {"..", "../.."}) {
    const int directory = ::openat(kDirectoryFd, above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) continue;
    ::fsync(directory);
    ::close(directory);
  }
  return made;
}

bool reserve_ending(int& error) {
  const int fd = ::openat(kDirectoryFd, "exit.tmp", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return error = errno, false;
  ::memset(buffer, 0, kEndingBytes);
  const bool whole = write_all(fd, buffer, kEndingBytes);
  error = errno;
  ::close(fd);
  return whole;
}

bool write_ending(const Ending& ending) {
  char words[sizeof ending.words.text];
  ::memcpy(words, ending.words.text, sizeof words);
  for (char* c = words; *c; ++c)
    if (static_cast<unsigned char>(*c) < ' ' || *c == 0x7F) *c = ' ';
  const int length =
      ::snprintf(buffer, kEndingBytes,
                 "smartmig-exit 1\ncode %d\nsignal %d\nstarted_us %lld\nended_us %lld\nran_us %lld\n"
                 "ended_steady_us %lld\npeak_mib %lld\n"
                 "host_oom %d\ntimed_out %d\nnever_started %d\nshort %d\nordered %d\nwords %s\nend\n",
                 ending.code, ending.signal, (long long)ending.started_us, (long long)ending.ended_us,
                 (long long)(ending.ended_steady_us - ending.started_steady_us), (long long)ending.ended_steady_us,
                 (long long)ending.peak_mib, int(ending.host_oom), int(ending.timed_out), int(ending.never_started),
                 int(ending.short_of_means), ending.ordered, words);
  // Over the reserved bytes, which need no new room, then cut.
  const int fd = ::openat(kDirectoryFd, "exit.tmp", O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return false;
  const bool whole = write_all(fd, buffer, std::size_t(length)) && ::ftruncate(fd, length) == 0 && ::fsync(fd) == 0;
  const int error = errno;
  ::close(fd);
  if (!whole) return errno = error, false;
  if (::renameat(kDirectoryFd, "exit.tmp", kDirectoryFd, "exit") != 0) return false;
  ::fsync(kDirectoryFd);
  return true;
}

}  // namespace smartmig::supervisor
