// The environment that --export passes to a job: "ALL", "NONE", or a list such as "A,B=c", with or without ALL. Takes
// values from `environment`. The client's own token is never passed. Variables that are not UTF-8 cannot be passed and
// are listed in `notes`.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace smartmig::cli {

std::vector<std::string> exported_environment(std::string_view list, char** environment,
                                              std::vector<std::string>& notes);

}  // namespace smartmig::cli
