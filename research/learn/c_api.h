// The trainer's environment (learn/env.h) for other languages: reset and step over flat arrays, as libsmartmig_env.so.
// One environment is one fleet, an episode is one simulated day, and a step lasts from one controller call to the next.
// docs/env.md has the arrays and a ctypes example.
//
// Functions that can fail return NULL or a negative number; smi_last_error() then returns a sentence with the reason,
// per thread. An environment belongs to one thread at a time; different ones may run in parallel. The same config, seed
// and actions give the same bytes as in smartmig train.
#ifndef SMARTMIG_ENV_H
#define SMARTMIG_ENV_H
#include <stdint.h>

#define SMI_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef struct smi_env smi_env;

// Creates an environment from the text of a training config (TOML, see smartmig train --gen-config; "" takes all
// defaults).
SMI_API smi_env* smi_env_create(const char* config_text);
SMI_API void smi_env_destroy(smi_env* env);  // NULL is allowed
SMI_API const char* smi_last_error(void);    // valid until the thread's next failing call

// Sizes of the arrays below.
SMI_API int smi_env_inputs(const smi_env* env);  // of an observation, including foresight if the config asks for it
SMI_API int smi_env_gpus(const smi_env* env);
SMI_API int smi_env_layouts(const smi_env* env);
SMI_API const char* smi_env_layout_name(const smi_env* env, int layout);  // "4g.20gb+2g.10gb+1g.10gb"

// Begins the day of this seed, from env.first_seed to env.last_seed of the config. Fills observation[inputs] and, if
// not NULL, mask[gpus * layouts]. Returns 0, or -1.
SMI_API int smi_env_reset(smi_env* env, uint64_t seed, float* observation, uint8_t* mask);

// next[gpus]: the next layout of each GPU. Fills the pointers that are not NULL: observation[inputs] (the last one
// again once the day has ended), reward (the sum over a day is -ET), terminated (all jobs are done), truncated (cut by
// env.max_hours), mask. Returns 0, or -1 without any effect.
SMI_API int smi_env_step(smi_env* env, const uint8_t* next, float* observation, double* reward, int* terminated,
                         int* truncated, uint8_t* mask);

// Draws next layouts from matrix[layouts * layouts], which is not negative and has a positive sum in each row. Each GPU
// draws from its layout's row, cut to the top_k largest entries, keyed by (seed, decision, gpu), as smartmig train
// does.
// Fills next[gpus]. Returns 0, or -1.
SMI_API int smi_env_sample(smi_env* env, const float* matrix, int top_k, uint64_t seed, uint8_t* next);

SMI_API int smi_env_layout_of(const smi_env* env, uint8_t* layout);  // layout[gpus], as the controller sees them
SMI_API double smi_env_time_s(const smi_env* env);                   // seconds since the day's midnight; -1: no day

#ifdef __cplusplus
}
#endif
#endif
