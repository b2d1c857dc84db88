// Functions that make errors, one for each code: busy_error("{} is in use: stop the daemon", path). The codes that
// nearly every file needs (invalid, io_error, not_found) are in result.h.
#pragma once
#include <string_view>

#include "base/result.h"

namespace smartmig {

template <class... Args>
Error busy_error(fmt::format_string<Args...> format, Args&&... args) {
  return {Error::kBusy, fmt::format(format, std::forward<Args>(args)...)};
}
template <class... Args>
Error lost_error(fmt::format_string<Args...> format, Args&&... args) {
  return {Error::kLost, fmt::format(format, std::forward<Args>(args)...)};
}
template <class... Args>
Error no_permission(fmt::format_string<Args...> format, Args&&... args) {
  return {Error::kNoPermission, fmt::format(format, std::forward<Args>(args)...)};
}
template <class... Args>
Error unsupported(fmt::format_string<Args...> format, Args&&... args) {
  return {Error::kUnsupported, fmt::format(format, std::forward<Args>(args)...)};
}
template <class... Args>
Error timeout_error(fmt::format_string<Args...> format, Args&&... args) {
  return {Error::kTimeout, fmt::format(format, std::forward<Args>(args)...)};
}

const char* code_name(Error::Code code);        // "invalid", "not_found", ...: as in every JSON that names an error
Error::Code error_code(std::string_view name);  // kLost for an unknown name

}  // namespace smartmig
