/* What the process holds: a table of addresses, allocation handles and mappings with their sizes. Grows by doubling, in
 * pages of its own, never through malloc, so that it can be used from within any call. No locks: the caller has one. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum HeldKind { kHeldDevice = 1, kHeldManaged, kHeldHandle, kHeldMapping };

struct Held {
  uint64_t key;      /* address or handle */
  uint32_t kind;     /* 0: an empty place */
  uint32_t handles;  /* of a handle: releases still owed */
  uint32_t mappings; /* of a handle: mappings that keep its memory */
  uint64_t size;
  uint64_t backing; /* of a mapping: its handle */
};

struct HeldTable {
  struct Held* places;
  size_t capacity, count;
};

/* Kinds that name the same thing share a space of keys: an address is device or managed memory, never both. */
struct Held* held_find(const struct HeldTable* table, uint64_t key, uint32_t kind);
/* A place for it, filled; replaces what has its key. NULL: no memory. */
struct Held* held_put(struct HeldTable* table, const struct Held* held);
void held_erase(struct HeldTable* table, struct Held* place);
void held_clear(struct HeldTable* table);

#ifdef __cplusplus
}
#endif
