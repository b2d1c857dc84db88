#include "cli/time_words.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <set>

#include "base/text.h"
#include "live/gpu/memory_size.h"

namespace smartmig::cli {
namespace {

constexpr double kDay = 86'400, kKwh = 3.6e6;

bool digits(std::string_view text) {
  return !text.empty() && text.size() <= 9 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}
int number(std::string_view text) { return int(*parse_int(text)); }

// "MM:SS" or "HH:MM:SS"; with days in front "HH", "HH:MM" or "HH:MM:SS".
std::optional<double> colon_seconds(std::string_view text, bool after_days) {
  const auto pieces = split(text, ':');
  if (pieces.size() > 3 || !std::all_of(pieces.begin(), pieces.end(), digits)) return std::nullopt;
  double unit = after_days ? 3600 : pieces.size() == 3 ? 3600 : 60, total = 0;
  for (const std::string_view piece : pieces) {
    total += unit * number(piece);
    unit /= 60;
  }
  return total;
}

std::optional<double> unit_seconds(std::string_view word) {
  if (word == "s" || word == "sec" || word == "seconds") return 1;
  if (word == "m" || word == "min" || word == "minutes") return 60;
  if (word == "h" || word == "hours") return 3600;
  if (word == "d" || word == "days") return kDay;
  return std::nullopt;
}

// "1h30m": numbers, each with its unit.
std::optional<double> unit_list(std::string_view text) {
  double total = 0;
  while (!text.empty()) {
    const auto word = text.find_first_not_of("0123456789.");
    if (word == text.npos || word == 0) return std::nullopt;
    const auto end = std::min(text.find_first_of("0123456789.", word), text.size());
    const auto value = parse_double(text.substr(0, word));
    const auto unit = unit_seconds(text.substr(word, end - word));
    if (!value || !unit) return std::nullopt;
    total += *value * *unit;
    text.remove_prefix(end);
  }
  return total;
}

struct ClockTime {
  int hour = 0, minute = 0, second = 0;
};
std::optional<ClockTime> read_clock(std::string_view text) {
  const auto pieces = split(text, ':');
  if (pieces.size() < 2 || pieces.size() > 3) return std::nullopt;
  for (const std::string_view piece : pieces)
    if (!digits(piece) || piece.size() > 2) return std::nullopt;
  ClockTime out{number(pieces[0]), number(pieces[1]), pieces.size() == 3 ? number(pieces[2]) : 0};
  if (out.hour > 23 || out.minute > 59 || out.second > 59) return std::nullopt;
  return out;
}

// The offset of "Z", "+01:00" or "+0100" at the end, taken off `text`; nothing: local time.
std::optional<int> take_zone(std::string_view& text) {
  if (!text.empty() && (text.back() == 'Z' || text.back() == 'z')) {
    text.remove_suffix(1);
    return 0;
  }
  const auto at = text.find_first_of("+-");
  if (at == text.npos) return std::nullopt;
  std::string zone(text.substr(at + 1));
  zone.erase(std::remove(zone.begin(), zone.end(), ':'), zone.end());
  if (!digits(zone) || zone.size() != 4) return std::nullopt;
  const int offset = number(zone.substr(0, 2)) * 3600 + number(zone.substr(2)) * 60;
  const int sign = text[at] == '-' ? -1 : 1;
  text = text.substr(0, at);
  return sign * offset;
}

std::tm local(double at_s) {
  const std::time_t t = std::time_t(std::floor(at_s));
  std::tm out{};
  localtime_r(&t, &out);
  return out;
}

Error not_an_instant(std::string_view text) {
  return invalid("'{}' is not a time; write 2h, 16:00, 2026-11-15T16:00 or now+2h", text);
}

Result<UnixTime> read_date(std::string_view text) {
  std::string_view date = text.substr(0, 10), rest = text.substr(10);
  const auto pieces = split(date, '-');
  if (pieces.size() != 3 || !digits(pieces[0]) || !digits(pieces[1]) || !digits(pieces[2])) return not_an_instant(text);
  std::tm tm{};
  tm.tm_year = number(pieces[0]) - 1900;
  tm.tm_mon = number(pieces[1]) - 1;
  tm.tm_mday = number(pieces[2]);
  tm.tm_isdst = -1;
  if (tm.tm_year < 70 || tm.tm_year > 300 || tm.tm_mon < 0 || tm.tm_mon > 11 || tm.tm_mday < 1 || tm.tm_mday > 31)
    return not_an_instant(text);
  const int day = tm.tm_mday;
  std::optional<int> zone;
  if (!rest.empty()) {
    if (rest.front() != 'T' && rest.front() != 't' && rest.front() != ' ') return not_an_instant(text);
    rest.remove_prefix(1);
    zone = take_zone(rest);
    const auto clock = read_clock(rest);
    if (!clock) return not_an_instant(text);
    tm.tm_hour = clock->hour;
    tm.tm_min = clock->minute;
    tm.tm_sec = clock->second;
  }
  const std::time_t at = zone ? timegm(&tm) - *zone : std::mktime(&tm);
  if (tm.tm_mday != day) return invalid("'{}' is not a date", text);
  return from_unix_us(std::int64_t(at) * 1'000'000);
}

}  // namespace

UnixTime unix_now() {
  return UnixTime(std::chrono::duration_cast<Time>(std::chrono::system_clock::now().time_since_epoch()));
}

UnixTime midnight_before(UnixTime now) {
  std::tm tm = local(unix_seconds(now));
  tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
  tm.tm_isdst = -1;
  return from_unix_us(std::int64_t(std::mktime(&tm)) * 1'000'000);
}

Result<Time> read_duration(std::string_view text, Time bare) {
  const auto wrong = [&] {
    return invalid(
        "'{}' is not a duration; write 30m, 2h, 1h30m, 90s, HH:MM:SS or D-HH:MM:SS (a bare "
        "number is {})",
        text, bare == Time(1'000'000) ? "seconds" : "minutes");
  };
  const std::string word = lower(trim(text));
  std::optional<double> out;
  if (const auto plain = parse_double(word))
    out = *plain * seconds(bare);
  else if (const auto dash = word.find('-'); dash != word.npos && digits(std::string_view(word).substr(0, dash))) {
    out = colon_seconds(std::string_view(word).substr(dash + 1), true);
    if (out) *out += kDay * number(std::string_view(word).substr(0, dash));
  } else if (word.find(':') != word.npos)
    out = colon_seconds(word, false);
  else if (!word.empty())
    out = unit_list(word);
  if (!out || !(*out >= 0)) return wrong();
  if (*out > kMaxSeconds) return invalid("'{}' is longer than 300 years", text);
  return from_seconds(*out);
}

Result<UnixTime> read_instant(std::string_view text, UnixTime now) {
  const std::string_view word = trim(text);
  if (lower(word.substr(0, 3)) == "now") {
    const std::string_view rest = trim(word.substr(3));
    if (rest.empty()) return now;
    if (rest.front() != '+') return not_an_instant(text);
    SMARTMIG_TRY(const Time later, read_duration(trim(rest.substr(1)), Time(60'000'000)));
    return now + later;
  }
  if (const auto clock = read_clock(word)) {
    std::tm tm = local(unix_seconds(now));
    tm.tm_hour = clock->hour;
    tm.tm_min = clock->minute;
    tm.tm_sec = clock->second;
    tm.tm_isdst = -1;
    std::tm tomorrow = tm;
    UnixTime at = from_unix_us(std::int64_t(std::mktime(&tm)) * 1'000'000);
    if (at < now) {
      ++tomorrow.tm_mday;
      at = from_unix_us(std::int64_t(std::mktime(&tomorrow)) * 1'000'000);
    }
    return at;
  }
  if (word.size() >= 10 && word[4] == '-') return read_date(word);
  return not_an_instant(text);
}

Result<int> read_mib(std::string_view text) {
  const auto mib = parse_mib(text);
  if (!mib) return invalid("'{}' is not an amount of memory; write 18G, 512M or 20480 (MiB)", text);
  return *mib;
}

Result<TaskList> read_tasks(std::string_view text) {
  constexpr std::size_t kMost = 10'000;
  const auto wrong = [&] { return invalid("'{}' is not a list of tasks; write 0-15, 0-15%4 or 1,3,5-9:2", text); };
  TaskList out;
  std::string_view list = trim(text);
  if (const auto percent = list.find('%'); percent != list.npos) {
    const std::string_view limit = list.substr(percent + 1);
    if (!digits(limit) || number(limit) < 1) return wrong();
    out.limit = number(limit);
    list = list.substr(0, percent);
  }
  std::set<int> tasks;
  for (const std::string_view piece : split(list, ',')) {
    std::string_view range = piece;
    int step = 1;
    if (const auto colon = range.find(':'); colon != range.npos) {
      if (!digits(range.substr(colon + 1)) || range.find('-') == range.npos) return wrong();
      step = number(range.substr(colon + 1));
      range = range.substr(0, colon);
    }
    const auto dash = range.find('-');
    const std::string_view first = range.substr(0, dash), last = dash == range.npos ? first : range.substr(dash + 1);
    if (!digits(first) || !digits(last) || step < 1 || number(first) > number(last)) return wrong();
    for (std::int64_t task = number(first); task <= number(last); task += step) {
      tasks.insert(int(task));
      if (tasks.size() > kMost) return invalid("'{}' names more than {} tasks", text, kMost);
    }
  }
  out.tasks.assign(tasks.begin(), tasks.end());
  return out;
}

std::string relative_words(double at_s, double now_s) {
  const double away = at_s - now_s;
  if (std::abs(away) < 1) return "now";
  return away > 0 ? "in " + duration_words(away) : duration_words(-away) + " ago";
}

std::string clock_words(double at_s, double now_s) {
  if (!(std::abs(at_s) < kMaxSeconds)) return "never";
  const std::tm at = local(at_s), now = local(now_s);
  const char* form = "%Y-%m-%d %H:%M";
  if (at.tm_year == now.tm_year && at.tm_yday == now.tm_yday)
    form = "%H:%M";
  else if (std::abs(at_s - now_s) < 6 * kDay)
    form = "%a %H:%M";
  char out[64];
  return std::string(out, std::strftime(out, sizeof out, form, &at));
}

std::string when_words(double at_s, double now_s) {
  return fmt::format("{} ({})", clock_words(at_s, now_s), relative_words(at_s, now_s));
}

std::string energy_words(double joules) {
  const double size = std::abs(joules);
  if (size < 1e3) return fmt::format("{:.0f} J", joules);
  if (size < kKwh) return fmt::format("{:.1f} kJ", joules / 1e3);
  return size < 100 * kKwh ? fmt::format("{:.2f} kWh", joules / kKwh) : fmt::format("{:.0f} kWh", joules / kKwh);
}

std::string mib_words(double mib) {
  return mib < 1024 ? fmt::format("{:.0f} MiB", mib) : fmt::format("{:.1f} GiB", mib / 1024);
}

std::string cost_words(double cost) {
  if (cost > 0 && cost < 0.001) return "<0.001";
  return std::abs(cost) < 10 ? fmt::format("{:.3f}", cost) : fmt::format("{:.2f}", cost);
}

std::string cut(std::string_view text, std::size_t columns) {
  std::size_t count = 0, end = 0, keep = 0;  // keep: bytes of the first columns - 3 code points
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) continue;
    if (count + 3 == columns) keep = i;
    if (count == columns) end = i;
    ++count;
  }
  if (count <= columns) return std::string(text);
  if (columns < 4) return std::string(text.substr(0, end));
  return std::string(text.substr(0, keep)) + "...";
}

}  // namespace smartmig::cli
