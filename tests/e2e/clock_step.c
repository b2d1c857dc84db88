// Shifts the time of day of a program: SMARTMIG_TEST_CLOCK_FILE=FILE LD_PRELOAD=.../libclock_step.so PROGRAM.
// FILE holds the seconds to add ("3600", "-90.5") and is read at each call; a missing or empty FILE adds nothing.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

static int64_t shift_ns(void) {
  static _Thread_local int64_t last;  // kept where the file cannot be read for want of descriptors
  const char* path = getenv("SMARTMIG_TEST_CLOCK_FILE");
  const int before = errno;
  char text[64];
  int fd = path && *path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd >= 0) {
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    text[size > 0 ? size : 0] = 0;
    last = (int64_t)(strtod(text, NULL) * 1e9);
  } else if (errno == ENOENT || !path) {
    last = 0;
  }
  errno = before;
  return last;
}

EXPORTED int clock_gettime(clockid_t clock, struct timespec* out) {
  int result = (int)syscall(SYS_clock_gettime, clock, out);
  if (result != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return result;
  int64_t ns = (int64_t)out->tv_sec * 1000000000 + out->tv_nsec + shift_ns();
  int64_t s = ns / 1000000000 - (ns % 1000000000 < 0);
  out->tv_sec = (time_t)s;
  out->tv_nsec = (long)(ns - s * 1000000000);
  return 0;
}

EXPORTED int gettimeofday(struct timeval* restrict out, void* restrict zone) {
  (void)zone;
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return 0;
}

EXPORTED time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
