#define _GNU_SOURCE
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "live/jobs/memory_record.h"

typedef struct SmartmigMemoryRecord Record;

enum { kUnknown = 0, kOff, kReady };

static struct {
  int lock;
  int configured; /* kUnknown until the environment was read */
  int file;       /* of the record: kUnknown until the first request */
  Record* record;
  struct HeldTable held;
  char directory[3072];
} g;

static void lock(void) {
  for (int tries = 0; __atomic_exchange_n(&g.lock, 1, __ATOMIC_ACQUIRE); ++tries)
    if (tries > 100) sched_yield();
}
static void unlock(void) { __atomic_store_n(&g.lock, 0, __ATOMIC_RELEASE); }

/* The parent's record and allocations are not the child's; the copy of the table is given back. */
static void forget_parent(void) {
  if (g.record) munmap(g.record, sizeof(Record));
  g.record = NULL;
  g.file = kUnknown;
  held_clear(&g.held);
  unlock();
}

int report_wanted(void) {
  int state = __atomic_load_n(&g.configured, __ATOMIC_ACQUIRE);
  if (state != kUnknown) return state == kReady;
  const int saved = errno;
  lock();
  if (g.configured == kUnknown) {
    const char* directory = secure_getenv("SMARTMIG_MEMORY_DIR");
    state = kOff;
    if (directory && directory[0] == '/' && strlen(directory) < sizeof(g.directory)) {
      strcpy(g.directory, directory);
      if (pthread_atfork(lock, unlock, forget_parent) == 0) state = kReady;
    }
    __atomic_store_n(&g.configured, state, __ATOMIC_RELEASE);
  } else {
    state = g.configured;
  }
  unlock();
  errno = saved;
  return state == kReady;
}

static uint64_t pid_namespace(void) {
  char text[64];
  const ssize_t length = readlink("/proc/self/ns/pid", text, sizeof(text) - 1);
  unsigned long long number = 0;
  if (length <= 0) return 0;
  text[length] = 0;
  return sscanf(text, "pid:[%llu]", &number) == 1 ? number : 0;
}

static uint64_t start_ticks(void) {
  char text[1024];
  const int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t length = read(file, text, sizeof(text) - 1);
  close(file);
  if (length <= 0) return 0;
  text[length] = 0;
  const char* at = strrchr(text, ')'); /* behind it a blank and field 3; the start is field 22 */
  for (int field = 2; at && field < 22; ++field) at = strchr(at + 1, ' ');
  return at ? strtoull(at + 1, NULL, 10) : 0;
}

static Record* make_record(void) {
  struct timespec now = {0, 0};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const uint64_t begun = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
  char path[sizeof(g.directory) + 64];
  snprintf(path, sizeof(path), "%s/%d-%llu.mem", g.directory, (int)getpid(), (unsigned long long)begun);
  const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return NULL;
  Record first;
  memset(&first, 0, sizeof(first));
  first.magic = SMARTMIG_MEMORY_MAGIC;
  first.version = SMARTMIG_MEMORY_VERSION;
  first.pid = (uint64_t)getpid();
  first.pid_namespace = pid_namespace();
  first.start_ticks = start_ticks();
  first.begun_ns = begun;
  /* Written, not only made longer: a page without a place on a full disk would end the program at its first touch. */
  void* page = MAP_FAILED;
  if (write(file, &first, sizeof(first)) == (ssize_t)sizeof(first))
    page = mmap(NULL, sizeof(first), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (page != MAP_FAILED) return page;
  unlink(path);
  return NULL;
}

/* With the lock held from a true answer to end(). */
static int begin(void) {
  if (!report_wanted() || __atomic_load_n(&g.file, __ATOMIC_RELAXED) == kOff) return 0;
  lock();
  if (g.file == kUnknown) {
    g.record = make_record();
    __atomic_store_n(&g.file, g.record ? kReady : kOff, __ATOMIC_RELAXED);
  }
  if (g.file == kReady) {
    __atomic_store_n(&g.record->sequence, g.record->sequence + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    return 1;
  }
  unlock();
  return 0;
}
static void end(void) {
  __atomic_store_n(&g.record->sequence, g.record->sequence + 1, __ATOMIC_RELEASE);
  unlock();
}

static void set(uint64_t* word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELAXED); }
static void add(uint64_t* word, uint64_t value) { set(word, *word + value); }

static void hold(const struct Held* held) {
  add(&g.record->now, held->size);
  if (held->kind == kHeldManaged) add(&g.record->managed, held->size);
  if (g.record->now > g.record->peak) set(&g.record->peak, g.record->now);
}
static void let_go(const struct Held* held) {
  set(&g.record->now, g.record->now - held->size);
  if (held->kind == kHeldManaged) set(&g.record->managed, g.record->managed - held->size);
}

void report_allocated(uint64_t key, uint32_t kind, uint64_t size) {
  const int saved = errno;
  if (begin()) {
    const struct Held held = {key, kind, 1, 0, size, 0};
    const struct Held* old = held_find(&g.held, key, kind);
    if (old) let_go(old); /* given back unseen, with its context */
    if (held_put(&g.held, &held)) {
      hold(&held);
      add(&g.record->allocations, 1);
    } else {
      add(&g.record->untracked, 1);
    }
    end();
  }
  errno = saved;
}

void report_failed(uint64_t size) {
  const int saved = errno;
  if (begin()) {
    add(&g.record->failures, 1);
    set(&g.record->failed_request, size);
    set(&g.record->held_at_failure, g.record->now);
    set(&g.record->allocations_at_failure, g.record->allocations);
    end();
  }
  errno = saved;
}

static void drop_if_unused(struct Held* handle) {
  if (handle->handles != 0 || handle->mappings != 0) return;
  let_go(handle);
  held_erase(&g.held, handle);
}

struct Held report_take(uint64_t key, uint32_t kind) {
  struct Held taken = {0, 0, 0, 0, 0, 0};
  const int saved = errno;
  if (begin()) {
    struct Held* place = held_find(&g.held, key, kind);
    if (place && place->handles > 0) {
      taken = *place;
      add(&g.record->frees, 1);
      --place->handles;
      drop_if_unused(place);
    }
    end();
  }
  errno = saved;
  return taken;
}

void report_put_back(const struct Held* held) {
  if (held->kind == 0) return;
  const int saved = errno;
  if (begin()) {
    struct Held* place = held_find(&g.held, held->key, held->kind);
    if (place) {
      ++place->handles;
    } else if (held_put(&g.held, held)) {
      hold(held);
    }
    set(&g.record->frees, g.record->frees - 1);
    end();
  }
  errno = saved;
}

void report_retained(uint64_t handle) {
  const int saved = errno;
  if (begin()) {
    struct Held* place = held_find(&g.held, handle, kHeldHandle);
    if (place) ++place->handles;
    end();
  }
  errno = saved;
}

void report_mapped(uint64_t address, uint64_t size, uint64_t handle) {
  const int saved = errno;
  if (begin()) {
    const struct Held mapping = {address, kHeldMapping, 0, 0, size, handle};
    /* Also of memory that another process allocated: unmapping walks from one mapping to the next. */
    if (held_put(&g.held, &mapping)) {
      struct Held* place = held_find(&g.held, handle, kHeldHandle);
      if (place) ++place->mappings;
    }
    end();
  }
  errno = saved;
}

void report_unmapped(uint64_t address, uint64_t size) {
  const int saved = errno;
  if (begin()) {
    for (uint64_t at = address; at - address < size;) {
      struct Held* mapping = held_find(&g.held, at, kHeldMapping);
      if (!mapping || mapping->size == 0) break;
      const struct Held gone = *mapping;
      held_erase(&g.held, mapping);
      struct Held* handle = held_find(&g.held, gone.backing, kHeldHandle);
      if (handle && handle->mappings > 0) {
        --handle->mappings;
        drop_if_unused(handle);
      }
      at += gone.size;
    }
    end();
  }
  errno = saved;
}

__attribute__((destructor)) static void say_ended(void) {
  if (__atomic_load_n(&g.file, __ATOMIC_RELAXED) != kReady) return;
  lock();
  if (g.record) set(&g.record->ended, 1);
  unlock();
}
