#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "base/rng.h"

namespace smartmig {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto first = text.find_first_not_of(kSpace);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const auto at = text.find(separator);
    pieces.push_back(text.substr(0, at));
    if (at == text.npos) return pieces;
    text.remove_prefix(at + 1);
  }
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  return out;
}

namespace {
template <class T>
std::optional<T> parse_number(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}
}  // namespace

std::optional<std::int64_t> parse_int(std::string_view text) { return parse_number<std::int64_t>(text); }

std::optional<double> parse_double(std::string_view text) {
  const auto value = parse_number<double>(text);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  return value;
}

std::optional<Time> parse_duration(std::string_view text) {
  double unit = 1;
  if (!text.empty()) {
    switch (text.back()) {
      case 's':
        unit = 1;
        break;
      case 'm':
        unit = 60;
        break;
      case 'h':
        unit = 3600;
        break;
      case 'd':
        unit = 86400;
        break;
      default:
        unit = 0;
    }
    if (unit == 0)
      unit = 1;
    else
      text.remove_suffix(1);
  }
  const auto value = parse_double(text);
  if (!value || std::abs(*value * unit) > kMaxSeconds) return std::nullopt;
  return from_seconds(*value * unit);
}

namespace {
// Counts changed, inserted and deleted letters, and swapped neighbours (the most frequent typing error).
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before(to.size() + 1), last(to.size() + 1), row(to.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= from.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (from[i - 1] != to[j - 1])});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}
}  // namespace

std::string nearest(std::string_view text, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, text.size() / 3) + 1;
  for (const std::string& candidate : candidates)
    if (const std::size_t distance = edit_distance(text, candidate); distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  return best;
}

std::uint64_t hash_text(std::string_view text, std::uint64_t seed) {
  std::uint64_t h = mix64(seed + 0x9E3779B97F4A7C15u);
  for (unsigned char c : text) h = (h ^ c) * 0x100000001B3u;
  return mix64(h);
}

}  // namespace smartmig
