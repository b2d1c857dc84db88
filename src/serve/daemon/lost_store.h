// A state directory whose spool holds jobs and whose queue is gone: somebody has removed the store, or its disk did.
#pragma once
#include "base/result.h"

namespace smartmig {

// kInvalid: the store at `path` is missing or empty, and the spool holds attempts; says how many, which processes live,
// and what to do. Changes nothing.
Result<Ok> check_store_is_there(const std::string& path, const std::string& spool);

}  // namespace smartmig
