/* Binds every public name of NVML and calls each with valid arguments, null pointers, null handles, handles of nothing,
 * a MIG device's, numbers of all bits, structs of a version that no library knows, and before nvmlInit:
 *   nvml_client_names NAMES FUNCTIONS
 *   NAMES      nvml-sim/names.txt: name and kinds of arguments
 *   FUNCTIONS  nvml-sim/nvml_functions.h: the names that are emulated; all others must answer NOT_SUPPORTED
 * Prints a line for each wrong answer and a count; exits 1 where there was one. A crash is the test's failure. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvml_abi.h"

enum { kArguments = 6, kRoom = 1 << 16, kOldVersion = 0x01000001 };
typedef nvmlReturn_t (*Call)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

static void* library;
static char* functions;
static unsigned char buffers[kArguments][kRoom];
static nvmlEventSet_t event_set;
static nvmlGpmSample_t sample;
static int wrong;

static void* bind(const char* name) {
  void* symbol = dlsym(library, name);
  if (!symbol) {
    printf("%s: not exported\n", name);
    ++wrong;
  }
  return symbol;
}
#define CALL(name) ((__typeof__(&name))bind(#name))

static int is_emulated(const char* name) {
  char spelled[128];
  snprintf(spelled, sizeof spelled, "(%s)", name);
  return strstr(functions, spelled) != NULL;
}
/* Those that say nothing of a machine answer before nvmlInit too. */
static int needs_no_machine(const char* name) {
  return !strncmp(name, "nvmlInit", 8) || !strcmp(name, "nvmlErrorString") ||
         !strcmp(name, "nvmlSystemGetNVMLVersion") || !strncmp(name, "nvmlSystemGetCudaDriverVersion", 30);
}
/* Functions with a struct whose version the caller states. */
static int is_versioned(const char* name) {
  static const char* const names[] = {"nvmlDeviceGetMemoryInfo_v2",  "nvmlDeviceGetGpuInstanceProfileInfoV",
                                      "nvmlDeviceGetPciInfoExt",     "nvmlDeviceGetGpuInstanceProfileInfoByIdV",
                                      "nvmlDeviceGetAddressingMode", "nvmlGpuInstanceGetComputeInstanceProfileInfoV",
                                      "nvmlSystemGetDriverBranch",   "nvmlGpmQueryDeviceSupport",
                                      "nvmlDeviceGetHandleByUUIDV",  "nvmlGpmMetricsGet"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (!strcmp(names[i], name)) return 1;
  return 0;
}

/* Handles that exist now: earlier calls may have destroyed instances. */
struct Handles {
  nvmlDevice_t device;
  nvmlGpuInstance_t gpu_instance;
  nvmlComputeInstance_t compute_instance;
};
static struct Handles handles(void) {
  enum { kProfile1g = 19, kProfile1c = 0 };
  struct Handles out = {0};
  nvmlGpuInstance_t instances[16];
  nvmlComputeInstance_t computes[16];
  unsigned count = 0;
  CALL(nvmlDeviceGetHandleByIndex_v2)(0, &out.device);
  CALL(nvmlDeviceGetGpuInstances)(out.device, kProfile1g, instances, &count);
  if (count == 0 && CALL(nvmlDeviceCreateGpuInstance)(out.device, kProfile1g, instances) != NVML_SUCCESS) return out;
  out.gpu_instance = instances[0];
  count = 0;
  CALL(nvmlGpuInstanceGetComputeInstances)(out.gpu_instance, kProfile1c, computes, &count);
  if (count == 0) CALL(nvmlGpuInstanceCreateComputeInstance)(out.gpu_instance, kProfile1c, computes);
  out.compute_instance = computes[0];
  return out;
}

enum Handed { kValid, kNull, kMigDevice, kNothing };
struct Pass {
  const char* in_words;
  int initialised, null_pointers;
  enum Handed handed;
  unsigned first_word, number;
};
/* With these a number says how much room the caller has, or how long it waits. */
static int believes_in_numbers(const char* name) {
  return strstr(name, "Affinity") || strstr(name, "FieldValues") || strstr(name, "EventSetWait");
}

static nvmlReturn_t call(const char* name, const char* kinds, const struct Pass* pass) {
  uintptr_t arguments[kArguments] = {0};
  struct Handles now = {0};
  if (pass->initialised && (pass->handed == kValid || pass->handed == kMigDevice)) now = handles();
  if (pass->handed == kMigDevice) {
    nvmlComputeInstanceInfo_t info = {0};
    CALL(nvmlComputeInstanceGetInfo_v2)(now.compute_instance, &info);
    now.device = info.device;
  }
  if (pass->handed == kNothing) {
    now.device = (nvmlDevice_t)(uintptr_t)0x100f00000000dead;
    now.gpu_instance = (nvmlGpuInstance_t)(uintptr_t)0x3001ffffffffffff;
    now.compute_instance = (nvmlComputeInstance_t)(uintptr_t)0xdeadbeefdeadbeef;
  }
  for (int i = 0; i < kArguments && kinds[i]; ++i) {
    memset(buffers[i], 0, kRoom);
    memcpy(buffers[i], &pass->first_word, sizeof pass->first_word);
    switch (kinds[i]) {
      case 'd':
        arguments[i] = (uintptr_t)now.device;
        break;
      case 'g':
        arguments[i] = (uintptr_t)now.gpu_instance;
        break;
      case 'c':
        arguments[i] = (uintptr_t)now.compute_instance;
        break;
      case 'e':
        arguments[i] = pass->handed == kNull ? 0 : pass->handed == kNothing ? 0xbad : (uintptr_t)event_set;
        break;
      case 'm':
        arguments[i] = pass->handed == kNull ? 0 : pass->handed == kNothing ? 0xbad : (uintptr_t)sample;
        break;
      case 'i':
      case 'l':
        arguments[i] = pass->number == ~0u && believes_in_numbers(name) ? 1 : pass->number;
        break;
      case 'p':
        arguments[i] = pass->null_pointers ? 0 : (uintptr_t)buffers[i];
        break;
    }
  }
  Call function;
  *(void**)&function = bind(name);
  if (!function) return NVML_ERROR_FUNCTION_NOT_FOUND;
  return function(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

static void check(const char* name, const char* kinds, const struct Pass* pass, nvmlReturn_t got) {
  nvmlReturn_t want = got;
  if (!pass->initialised)
    want = NVML_ERROR_UNINITIALIZED;
  else if (!is_emulated(name))
    want = NVML_ERROR_NOT_SUPPORTED;
  else if (pass->first_word == kOldVersion && is_versioned(name))
    want = NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  else if (got == NVML_SUCCESS && ((pass->null_pointers && strchr(kinds, 'p')) ||
                                   ((pass->handed == kNull || pass->handed == kNothing) && strpbrk(kinds, "dgcem"))))
    want = NVML_ERROR_INVALID_ARGUMENT;
  if (got == want) return;
  printf("%s, %s: answers %d, not %d\n", name, pass->in_words, got, want);
  ++wrong;
}

static char* whole_file(const char* path) {
  FILE* file = fopen(path, "r");
  char* text = calloc(1, 1 << 18);
  if (!file || !text || fread(text, 1, (1 << 18) - 1, file) == 0) {
    printf("cannot read %s\n", path);
    exit(2);
  }
  fclose(file);
  return text;
}

static void start(void) {
  if (CALL(nvmlInit_v2)() != NVML_SUCCESS) {
    printf("nvmlInit_v2 fails\n");
    exit(1);
  }
  CALL(nvmlEventSetCreate)(&event_set);
  CALL(nvmlGpmSampleAlloc)(&sample);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    printf("%s\n", dlerror());
    return 1;
  }
  functions = whole_file(argv[2]);
  static const struct Pass passes[] = {
      {"before nvmlInit", 0, 0, kValid, 0, 0},
      {"all valid, numbers 0", 1, 0, kValid, 0, 0},
      {"all valid, numbers 1", 1, 0, kValid, 0, 1},
      {"all valid, numbers 64", 1, 0, kValid, 16, 64},
      {"null pointers", 1, 1, kValid, 0, 0},
      {"null handles", 1, 0, kNull, 0, 0},
      {"all null", 1, 1, kNull, 0, 1},
      {"a MIG device", 1, 0, kMigDevice, 16, 0},
      {"handles of nothing", 1, 0, kNothing, 16, 1},
      {"numbers of all bits", 1, 0, kValid, 16, ~0u},
      {"a version of no library", 1, 0, kValid, kOldVersion, 0},
  };
  int names = 0, emulated = 0;
  for (size_t i = 0; i < sizeof passes / sizeof *passes; ++i) {
    const struct Pass* pass = &passes[i];
    if (pass->initialised) start();
    char* list = whole_file(argv[1]);
    char* rest = list;
    for (char* line; (line = strtok_r(rest, "\n", &rest));) {
      char name[128], kinds[16] = "";
      if (sscanf(line, "%127[A-Za-z0-9_] %15s", name, kinds) < 1 || strncmp(name, "nvml", 4)) continue;
      if (i == 0) ++names, emulated += is_emulated(name);
      if (needs_no_machine(name) || !strcmp(name, "nvmlShutdown")) continue;
      check(name, kinds, pass, call(name, kinds, pass));
      if (!strcmp(name, "nvmlEventSetFree")) CALL(nvmlEventSetCreate)(&event_set);
      if (!strcmp(name, "nvmlGpmSampleFree")) CALL(nvmlGpmSampleAlloc)(&sample);
    }
    free(list);
    if (pass->initialised && CALL(nvmlShutdown)() != NVML_SUCCESS) printf("nvmlShutdown fails\n"), ++wrong;
  }
  for (int code = -1; code < 40; ++code)
    if (!CALL(nvmlErrorString)((nvmlReturn_t)code)) printf("nvmlErrorString(%d) is null\n", code), ++wrong;
  printf("%d names, %d emulated, %d wrong answers\n", names, emulated, wrong);
  free(functions);
  return wrong > 0;
}
