// Decides from the end of a job's output whether the job ran out of its slice's memory; for a cluster engine this is an
// ordinary failure. The agent reads the output as root, from paths that users choose. So it opens only plain files of
// the job's owner, does not follow a link at the end of a path, and reveals nothing of a file except the result.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace smartmig {

struct MemoryFailure {
  int asked_mib = 0;  // what was refused, where the words say it
};
std::optional<MemoryFailure> memory_failure_in(const std::vector<std::string>& logs, std::uint32_t owner,
                                               const std::vector<std::string>& patterns);

}  // namespace smartmig
