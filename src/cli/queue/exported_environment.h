// The environment that --export gives to a job: "ALL", "NONE", or "A,B=c" with ALL among them or not, from
// `environment`. The client's own token is never sent; what is not UTF-8 cannot be, and is named in `notes`.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace smartmig::cli {

std::vector<std::string> exported_environment(std::string_view list, char** environment,
                                              std::vector<std::string>& notes);

}  // namespace smartmig::cli
