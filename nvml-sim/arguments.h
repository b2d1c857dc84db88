// Command lines of the small programs here: "--name value", "--name=value", flags, positionals. src/cli has the full
// version; these programs carry none of the engine.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smartmig::nvsim {

class Arguments {
 public:
  Arguments& flag(std::string name, bool& target);
  Arguments& option(std::string name, std::string& target);
  Arguments& option(std::string name, double& target);
  Arguments& option(std::string name, long long& target);
  // What remains are positionals; an unknown option or a missing value is an error.
  Result<std::vector<std::string>> parse(const std::vector<std::string>& words);

 private:
  struct Option {
    std::string name;
    bool is_flag;
    std::function<Result<Ok>(std::string_view)> set;
  };
  std::vector<Option> options_;
};

}  // namespace smartmig::nvsim
