#include "report/quote.h"

#include <fmt/format.h>

#include <cstdint>

namespace smartmig {
namespace {

// Length of the UTF-8 sequence at the front, 0 if there is none. Over-long forms and surrogates are none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return std::uint8_t(text[i]); };
  const auto tail = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return tail(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!tail(1) || !tail(2)) return 0;
    if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F)) return 0;
    return 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!tail(1) || !tail(2) || !tail(3)) return 0;
    if ((first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F)) return 0;
    return 4;
  }
  return 0;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0)
      out += fmt::format("\\x{:02X}", std::uint8_t(text[0]));
    else
      out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string json_quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : valid_utf8(text)) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (std::uint8_t(c) < 0x20 || c == 0x7F || c == '<')
          out += fmt::format("\\u{:04x}", unsigned(std::uint8_t(c)));
        else
          out += c;
    }
  }
  return out + '"';
}

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
