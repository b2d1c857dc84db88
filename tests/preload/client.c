/* A program that opens CUDA at run time, in the way its first argument names; prints the driver's truth at the end as
 * "held BYTES peak BYTES" and other findings as "name value". Leaves through _exit, so that its record stays as it was.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long long Address;
static void* driver;
static int (*alloc)(Address*, size_t);
static int (*release)(Address);

static void fail(const char* what) {
  printf("FAILED %s\n", what);
  fflush(stdout);
  _exit(1);
}
#define MUST(condition) \
  if (!(condition)) fail(#condition)

static void open_driver(void) {
  MUST(driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL));
  MUST(alloc = (int (*)(Address*, size_t))dlsym(driver, "cuMemAlloc_v2"));
  MUST(release = (int (*)(Address))dlsym(driver, "cuMemFree_v2"));
}
static size_t truth(const char* name) { return ((size_t(*)(void))dlsym(driver, name))(); }
static void finish(void) {
  printf("held %zu peak %zu\n", truth("stub_held"), truth("stub_peak"));
  fflush(stdout);
  _exit(0);
}

static void* hammer(void* seed_) {
  unsigned seed = (unsigned)(uintptr_t)seed_;
  Address mine[32] = {0};
  for (int i = 0; i < 20000; ++i) {
    const int at = rand_r(&seed) % 32;
    if (mine[at]) {
      MUST(release(mine[at]) == 0);
      mine[at] = 0;
    } else {
      MUST(alloc(&mine[at], 1 + (size_t)rand_r(&seed) % 10000) == 0);
    }
  }
  return NULL;
}

static void mapped_memory(void) {
  const int on_device[8] = {1, 0, 1, 0}, on_host[8] = {1, 0, 2, 0};
  int (*create)(Address*, size_t, const void*, unsigned long long) = dlsym(driver, "cuMemCreate");
  int (*let_go)(Address) = dlsym(driver, "cuMemRelease");
  int (*map)(Address, size_t, size_t, Address, unsigned long long) = dlsym(driver, "cuMemMap");
  int (*unmap)(Address, size_t) = dlsym(driver, "cuMemUnmap");
  int (*retain)(Address*, void*) = dlsym(driver, "cuMemRetainAllocationHandle");
  Address a, b, c, host, again;
  const size_t two = 2 << 20;
  const Address base = 0x500000000000;
  MUST(create(&a, two, on_device, 0) == 0 && create(&b, two, on_device, 0) == 0 && create(&c, two, on_device, 0) == 0);
  MUST(create(&host, two, on_host, 0) == 0 && let_go(host) == 0);
  MUST(map(base, two, 0, a, 0) == 0 && map(base + two, two, 0, b, 0) == 0);
  MUST(let_go(a) == 0 && let_go(b) == 0); /* their mappings keep them */
  MUST(retain(&again, (void*)(uintptr_t)(base + two)) == 0 && again == b);
  MUST(unmap(base, 2 * two) == 0); /* a goes, b is retained, c was never mapped */
  MUST(let_go(0x1234) != 0);
}

/* Prints what the driver saw when it was initialised, each process a line. */
static void tell_slice(void) {
  const char* (*device)(void) = (const char* (*)(void))dlsym(driver, "stub_device");
  const char* (*pipe)(void) = (const char* (*)(void))dlsym(driver, "stub_pipe");
  const char* (*share)(void) = (const char* (*)(void))dlsym(driver, "stub_share");
  const char* (*memory)(void) = (const char* (*)(void))dlsym(driver, "stub_memory");
  char line[1024];
  const int length =
      snprintf(line, sizeof(line), "device %s pipe %s share %s memory %s\n", device(), pipe(), share(), memory());
  if (write(1, line, (size_t)length) != length) _exit(1);
}
static void* init_in_thread(void* unused) {
  int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
  MUST(init(0) == 0);
  return unused;
}
static void initialise(const char* way, char** arguments) {
  int status = 0;
  MUST(driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL));
  int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
  if (strcmp(way, "dlsym") == 0) {
    MUST(init(0) == 0 && init(0) == 0);
  } else if (strcmp(way, "proc-address") == 0) {
    int (*get)(const char*, void**, int, unsigned long long, int*) = dlsym(driver, "cuGetProcAddress_v2");
    MUST(get("cuInit", (void**)&init, 12080, 0, &status) == 0 && init(0) == 0);
  } else if (strcmp(way, "runtime") == 0) {
    void* runtime = dlopen("libcudart.so.12", RTLD_NOW | RTLD_LOCAL);
    int (*runtime_alloc)(void**, size_t) = dlsym(runtime, "cudaMalloc");
    void* memory = NULL;
    MUST(runtime_alloc(&memory, 1000) == 0);
  } else if (strcmp(way, "threads") == 0) {
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) MUST(pthread_create(&threads[i], NULL, init_in_thread, NULL) == 0);
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  } else if (strcmp(way, "child") == 0) { /* the parent never calls CUDA */
    const pid_t child = fork();
    if (child == 0) {
      MUST(init(0) == 0);
      tell_slice();
      _exit(0);
    }
    MUST(waitpid(child, &status, 0) == child && status == 0);
    return;
  } else if (strcmp(way, "held-fork") == 0) { /* a child forked by a second thread while the first is held */
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, init_in_thread, NULL) == 0);
    usleep(100000);
    const pid_t child = fork();
    if (child == 0) {
      MUST(init(0) == 0);
      tell_slice();
      _exit(0);
    }
    pthread_join(thread, NULL);
    MUST(waitpid(child, &status, 0) == child && status == 0);
  } else if (strcmp(way, "exec") == 0) {
    MUST(init(0) == 0);
    execl(arguments[0], arguments[0], "init", "dlsym", (char*)NULL);
  } else {
    fail("no such way");
  }
  tell_slice();
}

int main(int count, char** arguments) {
  const char* mode = count > 1 ? arguments[1] : "";
  Address p[8] = {0};
  if (strcmp(mode, "nothing") == 0) {
    printf("cuda %d %d\n", dlsym(RTLD_DEFAULT, "cudaMalloc") != NULL, dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") != NULL);
    printf("error %d\n", dlerror() != NULL);
    printf("parent %d\n", getppid() > 0);
    return 0;
  }
  if (strcmp(mode, "init") == 0 && count > 2) {
    initialise(arguments[2], arguments);
    return 0;
  }
  if (strcmp(mode, "two-runtimes") == 0) {
    void* eleven = dlopen("libplugin11.so", RTLD_NOW | RTLD_LOCAL);
    void* twelve = dlopen("libplugin12.so", RTLD_NOW | RTLD_LOCAL);
    MUST(eleven && twelve);
    int (*round11)(void) = dlsym(eleven, "plugin_round11");
    int (*round12)(void) = dlsym(twelve, "plugin_round12");
    printf("served %d %d %d\n", round11(), round12(), round11());
    open_driver();
    finish();
  }
  open_driver();
  dlerror();
  MUST(!dlsym(driver, "cuNoSuchFunction") && dlerror());
  MUST(dlsym(driver, "cuMemFreeAsync") && !dlerror());
  if (strcmp(mode, "driver") == 0) {
    int (*managed)(Address*, size_t, unsigned) = dlsym(driver, "cuMemAllocManaged");
    MUST(alloc(&p[0], 1000) == 0 && alloc(&p[1], 2000) == 0 && managed(&p[2], 500, 1) == 0);
    MUST(release(p[0]) == 0 && release(0) == 0 && release(0x1234) != 0);
  } else if (strcmp(mode, "refused") == 0) {
    MUST(alloc(&p[0], (size_t)600 << 20) == 0);
    MUST(alloc(&p[1], (size_t)500 << 20) == 2);
    MUST(alloc(&p[1], 0) == 1);
    if (count > 2) MUST(release(p[0]) == 0 && alloc(&p[1], (size_t)500 << 20) == 0);
  } else if (strcmp(mode, "proc-address") == 0) {
    int (*get)(const char*, void**, int, unsigned long long, int*) = dlsym(driver, "cuGetProcAddress_v2");
    int (*asynchronous)(Address*, size_t, void*) = NULL;
    int (*again)(const char*, void**, int, unsigned long long, int*) = NULL;
    int (*old)(const char*, void**, int, unsigned long long) = NULL;
    int (*plain)(Address*, size_t) = NULL;
    int status = -1;
    MUST(get("cuMemAllocAsync", (void**)&asynchronous, 12000, 2, &status) == 0 && status == 0);
    MUST(get("cuGetProcAddress", (void**)&again, 12080, 0, NULL) == 0);
    MUST(again("cuMemAlloc", (void**)&plain, 12080, 0, &status) == 0);
    MUST(asynchronous(&p[0], 100, NULL) == 0 && plain(&p[1], 200) == 0);
    MUST(get("cuGetProcAddress", (void**)&old, 11040, 0, NULL) == 0);
    MUST(old("cuMemAlloc", (void**)&plain, 11040, 0) == 0 && plain(&p[2], 300) == 0);
    MUST(again("cuMemAlloc", (void**)&plain, 99000, 0, &status) == 0 && plain(&p[3], 400) == 0);
    MUST(again("cuNoSuchFunction", (void**)&plain, 12080, 0, &status) != 0);
  } else if (strcmp(mode, "runtime") == 0) {
    void* runtime = dlopen("libcudart.so.12", RTLD_NOW | RTLD_LOCAL);
    int (*entry)(const char*, void**, unsigned long long, int*) = dlsym(runtime, "cudaGetDriverEntryPoint");
    int (*runtime_alloc)(void**, size_t) = dlsym(runtime, "cudaMalloc");
    int (*runtime_free)(void*) = dlsym(runtime, "cudaFree");
    int (*create)(Address*, size_t, const void*, unsigned long long) = NULL;
    const int on_device[8] = {1, 0, 1, 0};
    MUST(runtime_alloc((void**)&p[0], 1000) == 0 && runtime_alloc((void**)&p[1], 2000) == 0);
    MUST(release(p[0]) == 0); /* from the runtime, back through the driver */
    MUST(alloc(&p[2], 300) == 0 && runtime_free((void*)p[2]) == 0);
    MUST(entry("cuMemCreate", (void**)&create, 0, NULL) == 0 && create(&p[3], 4096, on_device, 0) == 0);
  } else if (strcmp(mode, "mapped") == 0) {
    mapped_memory();
  } else if (strcmp(mode, "threads") == 0) {
    pthread_t threads[8];
    for (uintptr_t i = 0; i < 8; ++i) MUST(pthread_create(&threads[i], NULL, hammer, (void*)(i + 1)) == 0);
    for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
  } else if (strcmp(mode, "fork") == 0) {
    MUST(alloc(&p[0], 1000) == 0);
    const pid_t child = fork();
    if (child == 0) {
      MUST(alloc(&p[1], 222) == 0 && release(p[0]) == 0); /* the parent's: no business of the child's record */
      _exit(0);
    }
    int status = 0;
    MUST(waitpid(child, &status, 0) == child && status == 0);
    MUST(alloc(&p[2], 3) == 0);
    if (fork() == 0) exit(0); /* without a request: no record, and the parent's is not ended */
    wait(&status);
    printf("child %d\n", (int)child);
  } else if (strcmp(mode, "exec") == 0) {
    MUST(alloc(&p[0], 5000) == 0);
    execl(arguments[0], arguments[0], "driver", (char*)NULL);
  } else if (strcmp(mode, "exit") == 0) {
    MUST(alloc(&p[0], 5000) == 0);
    exit(0);
  } else if (strcmp(mode, "hold") == 0) {
    MUST(alloc(&p[0], 5000) == 0);
    printf("pid %d\n", (int)getpid());
    fflush(stdout);
    char byte;
    while (read(0, &byte, 1) > 0) {
    }
  } else if (strcmp(mode, "cost") == 0) {
    enum { kRounds = 1000000 };
    struct timespec a, b;
    for (int i = 0; i < 1000; ++i) MUST(alloc(&p[0], 1000) == 0); /* a table in use */
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < kRounds; ++i) {
      alloc(&p[0], 1000);
      release(p[0]);
    }
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("ns %.1f\n", ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / kRounds / 2);
  } else {
    fail("no such mode");
  }
  finish();
}
