#define _GNU_SOURCE
#include "held.h"

#include <sys/mman.h>

static uint32_t space_of(uint32_t kind) { return kind == kHeldManaged ? kHeldDevice : kind; }

static size_t home_of(const struct HeldTable* table, uint64_t key, uint32_t kind) {
  const uint64_t mixed = (key ^ ((uint64_t)space_of(kind) << 58)) * UINT64_C(0x9e3779b97f4a7c15);
  return (size_t)(mixed >> 20) & (table->capacity - 1);
}

struct Held* held_find(const struct HeldTable* table, uint64_t key, uint32_t kind) {
  if (table->capacity == 0) return NULL;
  for (size_t at = home_of(table, key, kind);; at = (at + 1) & (table->capacity - 1)) {
    struct Held* place = &table->places[at];
    if (place->kind == 0) return NULL;
    if (place->key == key && space_of(place->kind) == space_of(kind)) return place;
  }
}

static struct Held* empty_place(struct HeldTable* table, uint64_t key, uint32_t kind) {
  size_t at = home_of(table, key, kind);
  while (table->places[at].kind != 0) at = (at + 1) & (table->capacity - 1);
  return &table->places[at];
}

static int grow(struct HeldTable* table) {
  struct HeldTable larger = {NULL, table->capacity == 0 ? 1024 : table->capacity * 2, table->count};
  void* pages =
      mmap(NULL, larger.capacity * sizeof(struct Held), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return 0;
  larger.places = pages;
  for (size_t at = 0; at < table->capacity; ++at) {
    const struct Held* place = &table->places[at];
    if (place->kind != 0) *empty_place(&larger, place->key, place->kind) = *place;
  }
  if (table->places) munmap(table->places, table->capacity * sizeof(struct Held));
  *table = larger;
  return 1;
}

struct Held* held_put(struct HeldTable* table, const struct Held* held) {
  struct Held* place = held_find(table, held->key, held->kind);
  if (!place) {
    /* Half full is full; where it cannot grow, one empty place must be left to end every search. */
    if (table->count * 2 >= table->capacity && !grow(table) && table->count + 1 >= table->capacity) return NULL;
    place = empty_place(table, held->key, held->kind);
    ++table->count;
  }
  *place = *held;
  return place;
}

void held_erase(struct HeldTable* table, struct Held* place) {
  const size_t mask = table->capacity - 1;
  size_t hole = (size_t)(place - table->places);
  for (size_t at = (hole + 1) & mask; table->places[at].kind != 0; at = (at + 1) & mask) {
    const size_t home = home_of(table, table->places[at].key, table->places[at].kind);
    if (((at - home) & mask) >= ((at - hole) & mask)) {
      table->places[hole] = table->places[at];
      hole = at;
    }
  }
  table->places[hole].kind = 0;
  --table->count;
}

void held_clear(struct HeldTable* table) {
  if (table->places) munmap(table->places, table->capacity * sizeof(struct Held));
  *table = (struct HeldTable){NULL, 0, 0};
}
