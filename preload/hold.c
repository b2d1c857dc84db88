#define _GNU_SOURCE
#include "hold.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "live/grant_format.h"

enum { kUnknown = 0, kOff, kWanted };
enum { kFresh = 0, kPassed = -1 };

static struct {
  int wanted;
  int passing; /* kFresh, the process that waits, kPassed */
} g;

int hold_wanted(void) {
  int known = __atomic_load_n(&g.wanted, __ATOMIC_RELAXED);
  if (known == kUnknown) {
    const char* directory = secure_getenv("SMARTMIG_HOLD_DIR");
    known = directory && directory[0] == '/' ? kWanted : kOff;
    __atomic_store_n(&g.wanted, known, __ATOMIC_RELAXED);
  }
  return known == kWanted;
}

static void nap(long milliseconds) {
  const struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  (void)nanosleep(&pause, NULL);
}

/* PID.cuda: microseconds from the start of the attempt to the first CUDA call of this process. */
static void write_first_call(int directory) {
  const char* since = secure_getenv("SMARTMIG_HOLD_SINCE");
  struct timespec now = {0, 0};
  char name[64], text[64];
  clock_gettime(CLOCK_BOOTTIME, &now);
  const uint64_t began = since ? strtoull(since, NULL, 10) : 0;
  const uint64_t at = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
  snprintf(name, sizeof(name), "%d" SMARTMIG_FIRST_CALL, (int)getpid());
  const int length = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)(at > began ? at - began : 0));
  const int file = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return; /* the program before an exec wrote it */
  if (write(file, text, (size_t)length) != length) (void)unlinkat(directory, name, 0);
  close(file);
}

/* 1: the variables of the grant are set. 0: there is none yet. */
static int take_grant(int directory) {
  static char text[SMARTMIG_GRANT_BYTES + 1]; /* one thread comes here */
  const int file = openat(directory, SMARTMIG_GRANT, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return 0;
  size_t length = 0;
  int broken = 0;
  for (ssize_t n;
       length < SMARTMIG_GRANT_BYTES && (n = read(file, text + length, SMARTMIG_GRANT_BYTES - length)) != 0;) {
    if (n < 0 && errno == EINTR) continue;
    if ((broken = n < 0)) break;
    length += (size_t)n;
  }
  close(file);
  if (broken) return 0; /* a directory, say: whatever the job put there is no grant */
  text[length] = 0;
  for (char* at = text; at < text + length; at += strlen(at) + 1) {
    char* equals = strchr(at, '=');
    if (!equals || equals == at) continue;
    *equals = 0;
    (void)setenv(at, equals + 1, 1);
    *equals = '=';
  }
  return 1;
}

/* Until something is renamed into the directory, or a while has passed. */
static void wait_for_news(int watch) {
  if (watch < 0) return nap(20);
  char news[4096];
  struct pollfd polled = {watch, POLLIN, 0};
  if (poll(&polled, 1, 1000) > 0 && (polled.revents & ~POLLIN || read(watch, news, sizeof(news)) <= 0)) nap(20);
}

static void pass(void) {
  const char* path = secure_getenv("SMARTMIG_HOLD_DIR");
  const char* hold = secure_getenv("SMARTMIG_HOLD");
  const int directory = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  if (directory < 0) return; /* its attempt is over */
  write_first_call(directory);
  if (hold && strcmp(hold, "1") == 0) {
    const int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (watch >= 0) (void)inotify_add_watch(watch, path, IN_MOVED_TO | IN_CREATE);
    while (!take_grant(directory) && (access(path, F_OK) == 0 || errno != ENOENT)) wait_for_news(watch);
    if (watch >= 0) close(watch);
  }
  close(directory);
}

void hold_pass(void) {
  if (__atomic_load_n(&g.passing, __ATOMIC_ACQUIRE) == kPassed || !hold_wanted()) return;
  const int saved = errno, self = (int)getpid();
  for (int there = kFresh; there != kPassed;) {
    /* Fresh, or of a parent that forked while it waited: nobody waits here. */
    if (there == self) {
      nap(5);
      there = __atomic_load_n(&g.passing, __ATOMIC_ACQUIRE);
    } else if (__atomic_compare_exchange_n(&g.passing, &there, self, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      pass();
      __atomic_store_n(&g.passing, kPassed, __ATOMIC_RELEASE);
      there = kPassed;
    }
  }
  errno = saved;
}
