// The launch data of an attempt, in its directory of the spool: a store that is older than the attempt (a restored
// backup) learns from it whose job this is and on which slice it runs. No other part reads it.
#pragma once
#include <optional>

#include "live/jobs/runner.h"

namespace smartmig {

Result<Ok> note_origin(const std::string& directory, const Launch& launch);
// Environment and script, in a separate file next to it that is written first: a link to the file of another attempt
// with the same contents, `like` (its directory; empty: none), as long as that exists.
Result<Ok> note_launch(const std::string& directory, const JobSpec& spec, const std::string& like);
std::optional<AttemptOrigin> read_origin(const std::string& directory);  // nothing: none, or not readable

}  // namespace smartmig
