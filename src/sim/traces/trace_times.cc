#include "sim/traces/trace_times.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/text.h"

namespace smartmig {
namespace {

constexpr std::array<std::pair<std::string_view, double>, 7> kTimeUnits = {
    {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"min", 60}, {"h", 3600}, {"d", 86400}}};
constexpr double kMib = 1024.0 * 1024.0;
constexpr std::array<std::pair<std::string_view, double>, 6> kMemoryUnits = {
    {{"mib", 1}, {"gib", 1024}, {"mb", 1e6 / kMib}, {"gb", 1e9 / kMib}, {"kib", 1.0 / 1024}, {"bytes", 1 / kMib}}};

// Takes exactly `count` digits off the front.
std::optional<int> take_number(std::string_view& text, std::size_t count) {
  if (text.size() < count) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool take_char(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text[0]) == any_of.npos) return false;
  text.remove_prefix(1);
  return true;
}

// "+08:00", "+0800", "+08", "Z", "UTC", or nothing.
bool take_zone(std::string_view text, TraceInstant& out) {
  text = trim(text);
  if (text.empty()) return true;
  out.has_zone = true;
  if (text == "Z" || text == "z" || text == "UTC" || text == "GMT") return true;
  const bool west = text[0] == '-';
  if (!take_char(text, "+-")) return false;
  const auto hours = take_number(text, 2);
  take_char(text, ":");
  const auto minutes = text.empty() ? std::optional<int>(0) : take_number(text, 2);
  if (!hours || !minutes || *hours > 15 || *minutes > 59 || !text.empty()) return false;
  out.zone_minutes = (*hours * 60 + *minutes) * (west ? -1 : 1);
  return true;
}

std::optional<TraceInstant> parse_date(std::string_view text) {
  TraceInstant out;
  out.is_date = true;
  const auto year = take_number(text, 4);
  if (!year || !take_char(text, "-/")) return std::nullopt;
  const auto month = take_number(text, 2);
  if (!month || !take_char(text, "-/")) return std::nullopt;
  const auto day = take_number(text, 2);
  if (!day || *year < 1970 || *year > 2200) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(unsigned(*month)),
                                         std::chrono::day(unsigned(*day))};
  if (!date.ok()) return std::nullopt;
  out.at = std::chrono::sys_days(date).time_since_epoch();
  if (text.empty()) return out;
  if (!take_char(text, "T t")) return std::nullopt;
  const auto hour = take_number(text, 2);
  if (!hour || *hour > 23 || !take_char(text, ":")) return std::nullopt;
  const auto minute = take_number(text, 2);
  if (!minute || *minute > 59) return std::nullopt;
  out.at += std::chrono::hours(*hour) + std::chrono::minutes(*minute);
  if (take_char(text, ":")) {
    const auto second = take_number(text, 2);
    if (!second || *second > 60) return std::nullopt;
    out.at += std::chrono::seconds(*second);
    if (take_char(text, ".,")) {
      std::int64_t us = 0, digits = 0;
      for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; text.remove_prefix(1), ++digits)
        if (digits < 6) us = us * 10 + (text[0] - '0');
      if (digits == 0) return std::nullopt;
      for (; digits < 6; ++digits) us *= 10;
      out.at += Time(us);
    }
  }
  if (!take_zone(text, out)) return std::nullopt;
  out.at -= std::chrono::minutes(out.zone_minutes);
  return out;
}

}  // namespace

bool says_unknown(std::string_view field) {
  if (field.empty() || field == "-" || field == "\\N") return true;
  if (field.size() > 4) return false;
  const std::string word = lower(field);
  return word == "nan" || word == "na" || word == "n/a" || word == "none" || word == "null" || word == "nat";
}

std::optional<double> seconds_in(std::string_view unit) {
  for (const auto& [name, seconds] : kTimeUnits)
    if (unit == name) return seconds;
  return std::nullopt;
}

std::optional<double> mib_in(std::string_view unit) {
  for (const auto& [name, mib] : kMemoryUnits)
    if (unit == name) return mib;
  return std::nullopt;
}

std::optional<TraceInstant> parse_trace_instant(std::string_view text, std::string_view unit) {
  text = trim(text);
  if (unit == "date") return parse_date(text);
  const auto number = parse_double(text);
  if (!number) return unit.empty() ? parse_date(text) : std::nullopt;
  const double s = *number * (unit.empty() ? 1 : seconds_in(unit).value_or(1));
  if (std::abs(s) > kMaxSeconds) return std::nullopt;
  TraceInstant out;
  out.at = from_seconds(s);
  return out;
}

std::string date_words(Time since_1970, int zone_minutes) {
  const auto local = since_1970 + std::chrono::minutes(zone_minutes);
  const auto days = std::chrono::floor<std::chrono::days>(local);
  const std::chrono::year_month_day date{std::chrono::sys_days(days)};
  const std::int64_t s = std::chrono::floor<std::chrono::seconds>(local - days).count();
  const int zone = std::abs(zone_minutes);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} {}{:02}:{:02}", int(date.year()), unsigned(date.month()),
                     unsigned(date.day()), s / 3600, s / 60 % 60, s % 60, zone_minutes < 0 ? '-' : '+', zone / 60,
                     zone % 60);
}

}  // namespace smartmig
