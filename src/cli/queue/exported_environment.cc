#include "cli/queue/exported_environment.h"

#include <fmt/format.h>

#include <map>

#include "base/json.h"
#include "base/text.h"

namespace smartmig::cli {

std::vector<std::string> exported_environment(std::string_view list, char** environment,
                                              std::vector<std::string>& notes) {
  std::map<std::string, std::string> here, out;
  for (char** entry = environment; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals == text.npos || equals == 0 || text.substr(0, equals) == "SMARTMIG_TOKEN") continue;
    // Of the task that calls, where a task submits.
    if (text.starts_with("SLURM_ARRAY_") || text.starts_with("SMARTMIG_ARRAY_")) continue;
    here.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  for (const std::string_view word : split(list, ',')) {
    const auto equals = word.find('=');
    if (lower(word) == "all") {
      for (const auto& [name, value] : here) out.emplace(name, value);
    } else if (equals != word.npos && equals > 0) {
      out[std::string(word.substr(0, equals))] = std::string(word.substr(equals + 1));
    } else if (!word.empty() && lower(word) != "none") {
      if (const auto found = here.find(std::string(word)); found != here.end())
        out[found->first] = found->second;
      else
        notes.push_back(fmt::format("--export: the environment has no variable '{}'", word));
    }
  }
  std::vector<std::string> entries;
  for (const auto& [name, value] : out) {
    if (valid_utf8(name) == name && valid_utf8(value) == value)
      entries.push_back(name + "=" + value);
    else
      notes.push_back(fmt::format("variable {} is not passed on: its value is not UTF-8", json_text(name)));
  }
  return entries;
}

}  // namespace smartmig::cli
