// How a job's framework takes GPU memory (model/size_memory.h), by the libraries its processes have loaded and by its
// environment.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/size_memory.h"

namespace smartmig {

// `libraries`: as /proc/PID/maps lists them. kUnknown: nothing of CUDA is among them.
AllocatorFamily allocator_of(std::string_view libraries, const std::vector<std::string>& environment);
// Of running processes, as far as they may be read.
AllocatorFamily allocator_of_processes(const std::vector<std::uint32_t>& pids);

}  // namespace smartmig
