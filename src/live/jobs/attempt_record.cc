#include "live/jobs/attempt_record.h"

#include <signal.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <limits>

#include "base/text.h"

namespace smartmig {
namespace {

struct Line {
  std::string_view key, value;
};

// The lines between the head and "end".
Result<std::vector<Line>> lines_of(const std::string& name, std::string_view format, std::string_view text) {
  std::vector<Line> lines;
  bool head = false, end = false;
  while (!text.empty() && !end) {
    const auto stop = text.find('\n');
    if (stop == text.npos) break;
    const std::string_view line = text.substr(0, stop);
    text.remove_prefix(stop + 1);
    const auto space = line.find(' ');
    const std::string_view key = line.substr(0, space);
    const std::string_view value = space == line.npos ? std::string_view() : line.substr(space + 1);
    if (!head) {
      const auto version = parse_int(value);
      if (key != format || !version)
        return invalid("{}: the first line is not \"{} {}\"", name, format, kAttemptFormat);
      if (*version != kAttemptFormat)
        return invalid("{}: format {} of {}; this program reads {}: use the version that wrote it", name, *version,
                       format, kAttemptFormat);
      head = true;
    } else if (line == "end") {
      end = true;
    } else {
      lines.push_back({key, value});
    }
  }
  if (!end) return invalid("{}: is incomplete: its last line is not \"end\"", name);
  return lines;
}

template <class T>
bool read_number(std::string_view text, T& out) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), out);
  return !text.empty() && result.ec == std::errc() && result.ptr == text.data() + text.size();
}
bool read_flag(std::string_view text, bool& out) {
  out = text == "1";
  return text == "1" || text == "0";
}
bool read_order(std::string_view text, StopReason& out) {
  int number = 0;
  if (!read_number(text, number) || number < 0 || number > int(StopReason::kLarger)) return false;
  out = StopReason(number);
  return true;
}
bool read_time(std::string_view text, UnixTime& out) {
  std::int64_t us = 0;
  if (!read_number(text, us) || us < 0) return false;
  out = from_unix_us(us);
  return true;
}

bool read_span(std::string_view text, std::optional<Time>& out) {
  std::int64_t us = 0;
  if (!read_number(text, us) || us < 0) return false;
  out = Time(us);
  return true;
}

std::string one_line(std::string_view text) {
  std::string out(text.substr(0, 2000));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7F) c = ' ';
  return out;
}

}  // namespace

Result<AttemptRecord> parse_attempt_record(const std::string& name, std::string_view text) {
  SMARTMIG_TRY(const auto lines, lines_of(name, "smartmig-attempt", text));
  AttemptRecord record;
  for (const auto& [key, value] : lines) {
    bool good = true;
    if (key == "void")
      record.is_void = true;
    else if (key == "job")
      good = read_number(value, record.id.job);
    else if (key == "attempt")
      good = read_number(value, record.id.attempt);
    else if (key == "boot")
      record.boot_id = value;
    else if (key == "pid")
      good = read_number(value, record.pid) && record.pid > 0;
    else if (key == "started")
      good = read_number(value, record.start_ticks);
    else if (key == "token")
      record.token = value;
    else if (key == "cgroup" && value.starts_with('/'))
      record.cgroups.emplace_back(value);
    else
      good = false;
    if (!good) return invalid("{}: cannot read the line \"{} {}\"", name, key, value);
  }
  if (!record.is_void && record.pid == 0) return invalid("{}: has no line \"pid\"", name);
  return record;
}

Result<AttemptExit> parse_attempt_exit(const std::string& name, std::string_view text, AttemptId id) {
  SMARTMIG_TRY(const auto lines, lines_of(name, "smartmig-exit", text));
  AttemptExit exit;
  exit.id = id;
  for (const auto& [key, value] : lines) {
    bool good = true;
    if (key == "code")
      good = read_number(value, exit.code);
    else if (key == "signal")
      good = read_number(value, exit.signal) && exit.signal >= 0;
    else if (key == "started_us")
      good = read_time(value, exit.started);
    else if (key == "ended_us")
      good = read_time(value, exit.ended);
    else if (key == "ran_us")
      good = read_span(value, exit.ran);
    else if (key == "ended_steady_us")
      good = read_span(value, exit.ended_steady);
    else if (key == "peak_mib")
      good = read_number(value, exit.peak_host_mib);
    else if (key == "host_oom")
      good = read_flag(value, exit.host_oom);
    else if (key == "timed_out")
      good = read_flag(value, exit.timed_out);
    else if (key == "never_started")
      good = read_flag(value, exit.never_started);
    else if (key == "short")
      good = read_flag(value, exit.short_of_means);
    else if (key == "ordered")
      good = read_order(value, exit.ordered), exit.unasked = exit.ordered == StopReason::kNone;
    else if (key == "words")
      exit.words = value;
    else
      good = false;
    if (!good) return invalid("{}: cannot read the line \"{} {}\"", name, key, value);
  }
  return exit;
}

std::string to_text(const AttemptExit& exit) {
  std::string steady;
  if (exit.ran) steady += fmt::format("ran_us {}\n", exit.ran->count());
  if (exit.ended_steady) steady += fmt::format("ended_steady_us {}\n", exit.ended_steady->count());
  return fmt::format(
      "smartmig-exit {}\ncode {}\nsignal {}\nstarted_us {}\nended_us {}\n{}peak_mib {}\nhost_oom {}\ntimed_out {}\n"
      "never_started {}\nshort {}\nordered {}\nwords {}\nend\n",
      kAttemptFormat, exit.code, exit.signal, unix_us(exit.started), unix_us(exit.ended), steady, exit.peak_host_mib,
      int(exit.host_oom), int(exit.timed_out), int(exit.never_started), int(exit.short_of_means), int(exit.ordered),
      one_line(exit.words));
}

std::string void_record() { return fmt::format("smartmig-attempt {}\nvoid\nend\n", kAttemptFormat); }

std::optional<std::uint64_t> start_ticks_of(int pid) {
  std::ifstream in(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(in, text, '\0');
  const auto after_name = text.rfind(')');
  if (after_name == text.npos) return std::nullopt;
  const auto fields = split(std::string_view(text).substr(after_name + 1), ' ');  // [0] is empty, [1] is field 3
  std::uint64_t ticks = 0;
  if (fields.size() < 21 || !read_number(fields[20], ticks)) return std::nullopt;
  return ticks;
}

bool is_alive(int pid) {
  if (pid <= 0 || (::kill(pid, 0) != 0 && errno == ESRCH)) return false;
  std::ifstream in(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(in, text, '\0');
  const auto after_name = text.rfind(')');
  return after_name == text.npos || after_name + 2 >= text.size() ||
         (text[after_name + 2] != 'Z' && text[after_name + 2] != 'X');
}

std::string this_boot() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string text;
  std::getline(in, text);
  return text;
}

}  // namespace smartmig
