// Reads a refused memory request from the end of a job's log. Pure.
#pragma once
#include <string_view>

namespace smartmig {

// MiB, rounded up, of the last request that the text says was refused, in the words of PyTorch ("Tried to allocate
// 20.00 GiB") or JAX ("trying to allocate 21474836480 bytes"); 0: it does not say.
int refused_request_mib(std::string_view text);

}  // namespace smartmig
