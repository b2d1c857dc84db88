// Ends a verb that failed: prints a sentence or one line of JSON on stderr, and returns the exit code.
#pragma once
#include "base/result.h"

namespace smartmig::cli {

// 2: the call was wrong. An error of a file, a daemon or another thing outside the call is a failure here, too: 1.
// of_file() marks what was wrong inside a file that the call names.
int usage_error(const Error& error);
int failure(const Error& error);  // the work failed: returns 1

Error of_file(Error error);

// From now on errors are printed as the API writes them: {"error":{"code":"not_found","message":"..."}}. One thread.
void errors_as_json(bool wanted);

}  // namespace smartmig::cli
