// Names of nodes as Slurm abbreviates them: "n[1-3,05],login1", "r[1-2]n[1-4]".
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smartmig {

// In the order of the text; empty text, "(null)" and "None" are no names. kInvalid: brackets do not match, a range
// counts down, or it names more than `most` nodes.
Result<std::vector<std::string>> expand_host_list(std::string_view text, std::size_t most = 100'000);

}  // namespace smartmig
