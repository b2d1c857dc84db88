/* The process's account of its CUDA memory: counts what the hooks tell and keeps the record (live/jobs/memory_record.h) in a
 * mapped file up to date. The file is made at the first request, so a process without CUDA leaves none; without
 * SMARTMIG_MEMORY_DIR, or where the file cannot be made, nothing is counted. A forked child begins anew. Every function
 * keeps errno. Thread rule: any thread; one lock, held for some tens of nanoseconds. */
#pragma once
#include "held.h"

#ifdef __cplusplus
extern "C" {
#endif

int report_wanted(void); /* SMARTMIG_MEMORY_DIR named a directory when the process began */

void report_allocated(uint64_t key, uint32_t kind, uint64_t size);
void report_failed(uint64_t size); /* refused for want of memory */

/* Taken out before the real call gives it back: afterwards another thread may get the same address. put_back undoes
 * that where the real call failed. */
struct Held report_take(uint64_t key, uint32_t kind);
void report_put_back(const struct Held* held);

/* Memory behind a handle is held until its last release and its last unmapping. */
void report_retained(uint64_t handle);
void report_mapped(uint64_t address, uint64_t size, uint64_t handle);
void report_unmapped(uint64_t address, uint64_t size); /* whole mappings, one or several */

#ifdef __cplusplus
}
#endif
