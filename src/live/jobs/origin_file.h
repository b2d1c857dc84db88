// What an attempt was launched with, in its directory of the spool: a store that is older than the attempt (a restored
// backup) learns from it whose job this is and on which slice it runs. Read by nobody else.
#pragma once
#include <optional>

#include "live/jobs/runner.h"

namespace smartmig {

Result<Ok> note_origin(const std::string& directory, const Launch& launch);
// Environment and script, in a file of their own beside it, written before it: a link to that of another attempt which
// has the same, `like` (its directory; empty: none), as long as that is there.
Result<Ok> note_launch(const std::string& directory, const JobSpec& spec, const std::string& like);
std::optional<AttemptOrigin> read_origin(const std::string& directory);  // nothing: none, or not readable

}  // namespace smartmig
