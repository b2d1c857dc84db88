#define _GNU_SOURCE
#include "real.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

#include "hold.h"
#include "report.h"

/* The oldest version of each symbol, so that the library also loads on systems older than the one that built it. */
#if defined(__x86_64__)
__asm__(".symver dlvsym, dlvsym@GLIBC_2.2.5");
__asm__(".symver dlopen, dlopen@GLIBC_2.2.5");
__asm__(".symver dlclose, dlclose@GLIBC_2.2.5");
__asm__(".symver dlerror, dlerror@GLIBC_2.2.5");
__asm__(".symver dladdr1, dladdr1@GLIBC_2.3.3");
#elif defined(__aarch64__)
__asm__(".symver dlvsym, dlvsym@GLIBC_2.17");
__asm__(".symver dlopen, dlopen@GLIBC_2.17");
__asm__(".symver dlclose, dlclose@GLIBC_2.17");
__asm__(".symver dlerror, dlerror@GLIBC_2.17");
__asm__(".symver dladdr1, dladdr1@GLIBC_2.17");
#endif

typedef void* (*Dlsym)(void*, const char*);

Function bound[kHooks][kEntries];

static void* no_dlsym(void* handle, const char* symbol) {
  (void)handle, (void)symbol;
  return NULL;
}

static Dlsym real_dlsym(void) {
  static Dlsym known;
  Dlsym found = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
  if (found) return found;
  static const char* const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
  for (size_t i = 0; !found && i < sizeof(versions) / sizeof(versions[0]); ++i)
    found = (Dlsym)dlvsym(RTLD_NEXT, "dlsym", versions[i]);
  if (!found) found = no_dlsym;
  __atomic_store_n(&known, found, __ATOMIC_RELEASE);
  return found;
}

static const struct Hook* hook_of(const char* symbol) {
  if (symbol[0] != 'c' || symbol[1] != 'u') return NULL;
  for (int id = 0; id < kHooks; ++id)
    if (strcmp(kHookTable[id].symbol, symbol) == 0) return &kHookTable[id];
  return NULL;
}

/* Requests are hooked to be counted; cuInit to be held, and what leads there. */
static int hook_wanted(const struct Hook* hook) {
  if (report_wanted()) return 1;
  return hold_wanted() && (hook == &kHookTable[kHook_cuInit] || hook == &kHookTable[kHook_cuGetProcAddress] ||
                           hook == &kHookTable[kHook_cuGetProcAddress_v2]);
}

static void pin(Function function) {
  Dl_info info;
  struct link_map* map = NULL;
  if (dladdr1((void*)function, &info, (void**)&map, RTLD_DL_LINKMAP) && map && map->l_name[0])
    (void)dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* The entry bound to `real`, or `real` itself when all are taken. */
static Function entry_for(const struct Hook* hook, Function real) {
  Function* reals = bound[hook - kHookTable];
  for (int entry = 0; entry < kEntries; ++entry) {
    Function there = __atomic_load_n(&reals[entry], __ATOMIC_ACQUIRE);
    if (!there && __atomic_compare_exchange_n(&reals[entry], &there, real, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      pin(real);
      return hook->entries[entry];
    }
    if (there == real) return hook->entries[entry];
  }
  return real;
}

/* What a call of hook->symbol at `return_address` would reach without this library. Leaves an error for dlerror where
 * there is none. */
static Function look_up(const struct Hook* hook, void* return_address) {
  const Dlsym find = real_dlsym();
  Dl_info info;
  struct link_map* map = NULL;
  Function found = NULL;
  if (dladdr1(return_address, &info, (void**)&map, RTLD_DL_LINKMAP) && map && map->l_name[0]) {
    void* caller = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
    if (caller) {
      found = (Function)find(caller, hook->symbol);
      dlclose(caller);
    }
  }
  if (!found || found == hook->exported) found = (Function)find(RTLD_NEXT, hook->symbol);
  static const char* const libraries[] = {"libcuda.so.1", "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"};
  for (size_t i = 0; !found && i < sizeof(libraries) / sizeof(libraries[0]); ++i) {
    void* library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
    if (!library) continue;
    found = (Function)find(library, hook->symbol);
    dlclose(library);
  }
  if (found == hook->exported) found = NULL;
  if (found)
    (void)dlerror();
  else
    (void)find(RTLD_NEXT, hook->symbol); /* for its words */
  return found;
}

/* Return addresses seen and what each reached. A place is claimed by its key 1, then filled, then named. */
enum { kSites = 1024, kProbes = 8 };
static struct {
  uintptr_t key;
  Function real;
} sites[kSites];

Function real_for_caller(enum HookId id, void* return_address) {
  const uintptr_t key = (uintptr_t)return_address * 64 + (uintptr_t)id; /* addresses use 57 bits at most */
  const size_t home = (size_t)(((uint64_t)key * UINT64_C(0x9e3779b97f4a7c15)) >> 40);
  for (size_t probe = 0; probe < kProbes; ++probe) {
    const size_t at = (home + probe) % kSites;
    const uintptr_t there = __atomic_load_n(&sites[at].key, __ATOMIC_ACQUIRE);
    if (there == key) return sites[at].real;
    if (there == 0) break;
  }
  const int saved = errno;
  const Function real = look_up(&kHookTable[id], return_address);
  if (real) {
    pin(real);
    for (size_t probe = 0; probe < kProbes; ++probe) {
      const size_t at = (home + probe) % kSites;
      uintptr_t empty = 0;
      if (__atomic_compare_exchange_n(&sites[at].key, &empty, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        sites[at].real = real;
        __atomic_store_n(&sites[at].key, key, __ATOMIC_RELEASE);
        break;
      }
    }
  }
  (void)dlerror();
  errno = saved;
  return real;
}

Function answer_proc_address(const char* name, int version, unsigned long long flags, Function found) {
  enum { kPerThread = 2 };
  if (!name || !found) return found;
  const int saved = errno;
  Function answer = found;
  const struct Hook* hook = NULL;
  for (int id = 0; id < kHooks; ++id) {
    const struct Hook* candidate = &kHookTable[id];
    if (!candidate->name || strcmp(candidate->name, name) != 0 || version < candidate->first) continue;
    const size_t length = strlen(candidate->symbol);
    const int per_thread = length > 5 && strcmp(candidate->symbol + length - 5, "_ptsz") == 0;
    if (per_thread && !(flags & kPerThread)) continue;
    hook = candidate; /* of two that fit the later one is meant */
  }
  if (hook && hook_wanted(hook)) {
    Function symbol = found;
    if (version > hook->last) {
      void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
      symbol = driver ? (Function)real_dlsym()(driver, hook->symbol) : NULL;
      if (driver) dlclose(driver);
      (void)dlerror();
    }
    if (symbol == found) answer = entry_for(hook, found);
  }
  errno = saved;
  return answer;
}

/* dlsym for a hooked symbol and any handle but RTLD_NEXT. */
static void* hooked_dlsym(void* handle, const char* symbol) {
  const struct Hook* hook = hook_of(symbol);
  Function found = (Function)real_dlsym()(handle, symbol);
  if (found == hook->exported) {
    /* Seen from the whole program: this library is in the way. */
    found = look_up(hook, __builtin_return_address(0));
    if (found && !hook_wanted(hook)) return (void*)hook->exported;
  }
  if (!found || !hook_wanted(hook)) return (void*)found;
  for (int entry = 0; entry < kEntries; ++entry)
    if (found == hook->entries[entry]) return (void*)found;
  return (void*)entry_for(hook, found);
}

/* Where the exported dlsym goes on. It jumps there rather than calling, because the real one looks at its caller: with
 * RTLD_NEXT the answer depends on the library that asks. */
__attribute__((visibility("hidden"), used)) Dlsym smartmig_dlsym_target(void* handle, const char* symbol) {
  const struct Hook* hook = handle != RTLD_NEXT && symbol ? hook_of(symbol) : NULL;
  return hook && (report_wanted() || hold_wanted()) ? hooked_dlsym : real_dlsym();
}

#if defined(__x86_64__)
__asm__(
    ".text\n.globl dlsym\n.type dlsym, @function\ndlsym:\n"
    ".cfi_startproc\n"
    "endbr64\n"
    "pushq %rdi\n.cfi_adjust_cfa_offset 8\n"
    "pushq %rsi\n.cfi_adjust_cfa_offset 8\n"
    "subq $8, %rsp\n.cfi_adjust_cfa_offset 8\n"
    "call smartmig_dlsym_target\n"
    "addq $8, %rsp\n.cfi_adjust_cfa_offset -8\n"
    "popq %rsi\n.cfi_adjust_cfa_offset -8\n"
    "popq %rdi\n.cfi_adjust_cfa_offset -8\n"
    "jmp *%rax\n"
    ".cfi_endproc\n.size dlsym, . - dlsym\n");
#elif defined(__aarch64__)
__asm__(
    ".text\n.globl dlsym\n.type dlsym, %function\ndlsym:\n"
    ".cfi_startproc\n"
    "stp x29, x30, [sp, #-32]!\n.cfi_def_cfa_offset 32\n.cfi_offset 29, -32\n.cfi_offset 30, -24\n"
    "stp x0, x1, [sp, #16]\n"
    "bl smartmig_dlsym_target\n"
    "mov x16, x0\n"
    "ldp x0, x1, [sp, #16]\n"
    "ldp x29, x30, [sp], #32\n.cfi_def_cfa_offset 0\n.cfi_restore 29\n.cfi_restore 30\n"
    "br x16\n"
    ".cfi_endproc\n.size dlsym, . - dlsym\n");
#else
#error "dlsym must jump to the real one: add the few instructions for this processor"
#endif
