/* Which real function stands behind a hook. A program reaches CUDA in three ways: linked to it, through dlsym, through
 * cuGetProcAddress; and several runtimes may live in one process, each of which must keep its own calls.
 * Linked calls come to the exported symbol: the real function is the one that the calling library would have got, found
 * from the return address and remembered for it. Pointers that a program asks for are answered with one of kEntries
 * inner functions, each bound to one real address; when these are used up it gets the real address, uncounted but
 * right. A library whose function is bound stays loaded. Thread rule: any thread, no locks of its own. */
#pragma once
#include <stddef.h>

#include "hook_list.h"

enum HookId {
#define HOOK(symbol, name, first, last) kHook_##symbol,
  HOOKS(HOOK)
#undef HOOK
      kHooks
};

enum { kEntries = 4 };
typedef void (*Function)(void);

struct Hook {
  const char* symbol;
  const char* name;
  int first, last;
  Function exported;
  Function entries[kEntries];
};
extern const struct Hook kHookTable[kHooks]; /* in hooks.c */
extern Function bound[kHooks][kEntries];     /* the real function behind each entry */

Function real_for_caller(enum HookId id, void* return_address); /* NULL: the caller has no such function */
Function answer_proc_address(const char* name, int version, unsigned long long flags, Function found);
