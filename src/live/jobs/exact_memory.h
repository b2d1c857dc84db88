// What a job needs so that its processes report their CUDA memory requests: the library libsmartmig-preload.so, a
// directory that the job alone may write, and two variables. The reports are read by live/jobs/memory_report.h.
// Thread rule: free functions without state.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "live/gpu/driver.h"

namespace smartmig {

// $SMARTMIG_PRELOAD, then preload/ beside the program, then ../lib/smartmig.
Result<std::string> find_preload_library();

// Made anew, empty, of mode 0700, belonging to the job; its parent must exist and be writable by the daemon alone. Best
// in memory (/run): a record is written at every request. Something that is there already is an error.
Result<Ok> make_memory_directory(const std::string& path, std::uint32_t uid, std::uint32_t gid);
void remove_memory_directory(const std::string& path);  // with what the job left there; follows no links

// `preloaded`: LD_PRELOAD of the job itself, kept behind ours; empty: none.
Environment exact_memory_environment(const std::string& library, const std::string& directory,
                                     std::string_view preloaded);

}  // namespace smartmig
