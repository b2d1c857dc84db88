// Did a job run out of its slice's memory? That is an ordinary failure to a cluster engine; the end of the job's output
// says it. Read by the agent, who is root, from paths that users choose: only plain files that belong to the job's
// owner are opened, no link at the end of a path is followed, and nothing of a file is told but this answer.
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
