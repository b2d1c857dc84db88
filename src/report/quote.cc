#include "report/quote.h"

#include <fmt/format.h>

#include "base/json.h"

namespace smartmig {
std::string csv_quote(std::string_view text) {
  std::string clean = valid_utf8(text);
  for (char& c : clean)
    if (c == '\n' || c == '\r') c = ' ';
  const bool bare =
      clean.find_first_of(",\"") == clean.npos && (clean.empty() || (clean.front() != ' ' && clean.back() != ' '));
  if (bare) return clean;
  std::string out = "\"";
  for (const char c : clean) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string html_escape(std::string_view text) {
  std::string out;
  for (const char c : valid_utf8(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string seconds_text(Time t) {
  const std::int64_t us = t.count();
  const std::uint64_t size = us < 0 ? 0 - std::uint64_t(us) : std::uint64_t(us);
  std::string out = fmt::format("{}{}", us < 0 ? "-" : "", size / 1000000);
  if (size % 1000000 == 0) return out;
  out += fmt::format(".{:06}", size % 1000000);
  while (out.back() == '0') out.pop_back();
  return out;
}

}  // namespace smartmig
