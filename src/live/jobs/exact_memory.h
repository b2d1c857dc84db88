// The environment that makes a job's processes report their memory: the library libsmartmig-preload.so for CUDA
// requests, the hook in Python (preload/python) for what tensors hold, a directory that the job alone may write, and
// variables. Library and hook work independently of each other. The reports are read by live/jobs/memory_report.h.
// Thread rule: free functions without state.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "live/gpu/driver.h"

namespace smartmig {

// $SMARTMIG_PRELOAD, then preload/ next to the program, then ../lib/smartmig.
Result<std::string> find_preload_library();
// The directory of the hook: python/ in the places where the library may be, whether the library exists or not.
Result<std::string> find_python_hook();

// Created empty with mode 0700 and owned by the job; its parent must exist and be writable by the daemon alone. Best in
// memory (/run): a record is written at every request. It is an error if the path already exists.
Result<Ok> make_memory_directory(const std::string& path, std::uint32_t uid, std::uint32_t gid);
void remove_memory_directory(const std::string& path);  // with what the job left there; follows no links

// First in a list with colons, once, and behind it what the job has there itself. `own` empty: nothing.
std::string put_first(const std::string& first, std::string_view own);

}  // namespace smartmig
