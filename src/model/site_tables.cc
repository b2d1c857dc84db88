#include "model/site_tables.h"

#include <cstdlib>
#include <map>

#include "base/text.h"
#include "model/speed.h"

namespace smartmig {
namespace {

std::map<std::string, std::vector<std::string>>& added_files() {
  static std::map<std::string, std::vector<std::string>> files;
  return files;
}

}  // namespace

void add_site_files(const char* variable, const std::vector<std::string>& files) { added_files()[variable] = files; }

std::vector<std::string> site_files(const char* variable) {
  std::vector<std::string> files;
  if (const char* value = std::getenv(variable))
    for (const std::string_view file : split(value, ':'))
      if (!file.empty()) files.emplace_back(file);
  const auto& more = added_files();
  if (const auto at = more.find(variable); at != more.end())
    files.insert(files.end(), at->second.begin(), at->second.end());
  return files;
}

Result<Ok> check_site_tables() {
  const auto named = [](const char* variable, const Error& error) {
    return Error{error.code, fmt::format("{} (named in {}{})", error.what, variable,
                                         added_files()[variable].empty() ? "" : " or the daemon's settings")};
  };
  if (const auto files = site_files(kSpeedsVariable); !files.empty())
    if (const auto speeds = SpeedTable::with_files(files); !speeds) return named(kSpeedsVariable, speeds.error());
  if (const auto files = site_files(kPowerVariable); !files.empty())
    if (const auto watts = check_power_files(files); !watts) return named(kPowerVariable, watts.error());
  return Ok{};
}

}  // namespace smartmig
