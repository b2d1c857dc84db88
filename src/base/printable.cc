#include "base/printable.h"

#include <cstdint>
#include <utility>

namespace smartmig {
namespace {

// Returns the code point at the front and its length; length 0 means not UTF-8.
std::pair<std::uint32_t, std::size_t> front_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return std::uint32_t(static_cast<unsigned char>(text[i])); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xF0 && first < 0xF5 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
  if (length == 0 || first >= 0xF5 || text.size() < length) return {0, 0};
  std::uint32_t code = first & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {0, 0};
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[length] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return {0, 0};
  return {code, length};
}

bool disturbs(std::uint32_t code) {
  const auto within = [&](std::uint32_t low, std::uint32_t high) { return code >= low && code <= high; };
  return code < 0x20 || within(0x7F, 0x9F) || code == 0xAD || code == 0x61C || code == 0x180E ||
         within(0x200B, 0x200F) || within(0x2028, 0x202E) || within(0x2060, 0x206F) || code == 0xFEFF ||
         within(0xFFF9, 0xFFFB) || within(0xE0000, 0xE007F);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto [code, length] = front_code_point(text);
    if (length == 0 || disturbs(code))
      out += '?';
    else
      out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  for (;;) {
    const auto end = text.find('\n');
    out += printable(text.substr(0, end));
    if (end == text.npos) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

}  // namespace smartmig
