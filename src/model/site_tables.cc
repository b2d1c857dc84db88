#include "model/site_tables.h"

#include <cstdlib>

#include "base/text.h"
#include "model/speed.h"

namespace smartmig {

std::vector<std::string> site_files(const char* variable) {
  std::vector<std::string> files;
  if (const char* value = std::getenv(variable))
    for (const std::string_view file : split(value, ':'))
      if (!file.empty()) files.emplace_back(file);
  return files;
}

Result<Ok> check_site_tables() {
  const auto named = [](const char* variable, const Error& error) {
    return Error{error.code, fmt::format("{} (named in {})", error.what, variable)};
  };
  if (const auto files = site_files(kSpeedsVariable); !files.empty())
    if (const auto speeds = SpeedTable::with_files(files); !speeds) return named(kSpeedsVariable, speeds.error());
  if (const auto files = site_files(kPowerVariable); !files.empty())
    if (const auto watts = check_power_files(files); !watts) return named(kPowerVariable, watts.error());
  return Ok{};
}

}  // namespace smartmig
