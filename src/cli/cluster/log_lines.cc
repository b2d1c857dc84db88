#include "cli/cluster/log_lines.h"

#include <fmt/format.h>

#include <cstdlib>
#include <ctime>

namespace smartmig::cli {

void tell_log(const std::string& words) {
  std::string at;
  if (!std::getenv("JOURNAL_STREAM")) {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    char text[32] = {};
    if (::gmtime_r(&now, &parts) && std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ ", &parts) > 0) at = text;
  }
  fmt::print(stderr, "{}smartmig: {}\n", at, words);
}

}  // namespace smartmig::cli
