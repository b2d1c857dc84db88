#include "arguments.h"

#include <algorithm>

#include "base/text.h"

namespace smartmig::nvsim {

Arguments& Arguments::flag(std::string name, bool& target) {
  options_.push_back(
      {std::move(name), true, [&target](std::string_view) -> Result<Ok> { return target = true, Ok{}; }});
  return *this;
}
Arguments& Arguments::option(std::string name, std::string& target) {
  options_.push_back(
      {std::move(name), false, [&target](std::string_view text) -> Result<Ok> { return target = text, Ok{}; }});
  return *this;
}
Arguments& Arguments::option(std::string name, double& target) {
  options_.push_back({name, false, [&target, name](std::string_view text) -> Result<Ok> {
                        const auto value = parse_double(text);
                        if (!value) return invalid("{} {}: not a number", name, text);
                        return target = *value, Ok{};
                      }});
  return *this;
}
Arguments& Arguments::option(std::string name, long long& target) {
  options_.push_back({name, false, [&target, name](std::string_view text) -> Result<Ok> {
                        const auto value = parse_int(text);
                        if (!value) return invalid("{} {}: not a whole number", name, text);
                        return target = *value, Ok{};
                      }});
  return *this;
}

Result<std::vector<std::string>> Arguments::parse(const std::vector<std::string>& words) {
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) {
      rest.push_back(words[i]);
      continue;
    }
    const auto equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals);
    const auto option =
        std::find_if(options_.begin(), options_.end(), [&](const Option& candidate) { return candidate.name == name; });
    if (option == options_.end()) return invalid("unknown option {}: see --help", name);
    if (!option->is_flag && equals == std::string::npos && i + 1 == words.size())
      return invalid("{} needs a value", name);
    const std::string value = option->is_flag               ? ""
                              : equals != std::string::npos ? words[i].substr(equals + 1)
                                                            : words[++i];
    SMARTMIG_RETURN_IF_ERROR(option->set(value));
  }
  return rest;
}

}  // namespace smartmig::nvsim
