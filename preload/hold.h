/* Holds the process at its first CUDA call until its slice is granted (docs/preload.md). The daemon starts a job
 * before its slice is free; whichever of its processes comes to cuInit waits here for the file `grant` in
 * SMARTMIG_HOLD_DIR and puts the variables that it holds into its environment, so that the driver initialises on the
 * slice. Without SMARTMIG_HOLD=1 nothing waits, and only the instant of the first call is written down.
 * errno is kept. Thread rule: any thread; all that come meanwhile wait for the same grant. A forked child of a waiting
 * process waits by itself. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

int hold_wanted(void); /* SMARTMIG_HOLD_DIR named a directory when the process began */
void hold_pass(void);  /* returns at once after the first time */

#ifdef __cplusplus
}
#endif
