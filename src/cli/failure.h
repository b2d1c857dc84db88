// The ends of a verb that could not do its work: a sentence on stderr and an exit code.
#pragma once
#include "base/result.h"

namespace smartmig::cli {

int usage_error(const Error& error);  // the call was wrong: returns 2
int failure(const Error& error);      // the work failed: returns 1

}  // namespace smartmig::cli
