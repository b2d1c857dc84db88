// The protocol between the daemon and the preload library (preload/hold.c), in the directory of a job that was started
// before its slice was free: the daemon renames the file `grant` into it, entries "NAME=value", each followed by a zero
// byte; a process that makes its first CUDA call writes PID.cuda, the microseconds since the start of its attempt. C
// and C++.
#pragma once

#define SMARTMIG_GRANT "grant"
#define SMARTMIG_FIRST_CALL ".cuda"
#define SMARTMIG_GRANT_BYTES 65536
