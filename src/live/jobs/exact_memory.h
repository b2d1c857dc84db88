// What a job needs so that its processes report their memory: the library libsmartmig-preload.so for CUDA requests, the
// hook in Python (preload/python) for what tensors hold, a directory that the job alone may write, and variables. Each of
// the two does without the other. The reports are read by live/jobs/memory_report.h.
// Thread rule: free functions without state.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "live/gpu/driver.h"

namespace smartmig {

// $SMARTMIG_PRELOAD, then preload/ beside the program, then ../lib/smartmig.
Result<std::string> find_preload_library();
// The directory of the hook: python/ in the places where the library may be, whether that is there or not.
Result<std::string> find_python_hook();

// Made anew, empty, of mode 0700, belonging to the job; its parent must exist and be writable by the daemon alone. Best
// in memory (/run): a record is written at every request. Something that is there already is an error.
Result<Ok> make_memory_directory(const std::string& path, std::uint32_t uid, std::uint32_t gid);
void remove_memory_directory(const std::string& path);  // with what the job left there; follows no links

// First in a list with colons, once, and behind it what the job has there itself. `own` empty: nothing.
std::string put_first(const std::string& first, std::string_view own);

}  // namespace smartmig
