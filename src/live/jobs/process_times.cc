#include "live/jobs/process_times.h"

#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/text.h"

namespace smartmig {

std::optional<ProcessTimes> parse_process_times(std::string_view stat, long ticks_per_second) {
  const auto after_name = stat.rfind(')');
  if (after_name == stat.npos || ticks_per_second <= 0) return std::nullopt;
  const auto fields = split(stat.substr(after_name + 1), ' ');  // [0] is empty, [1] is field 3
  if (fields.size() < 16) return std::nullopt;
  const auto parent = parse_int(fields[2]);
  std::int64_t ticks = 0;
  for (const std::size_t field : {12, 13, 14, 15}) {
    const auto value = parse_int(fields[field]);
    if (!value || *value < 0 || *value > INT64_MAX / 8'000'000) return std::nullopt;
    ticks += *value;
  }
  if (!parent || *parent < 0 || *parent > INT32_MAX) return std::nullopt;
  return ProcessTimes{int(*parent), Time(ticks * (1'000'000 / ticks_per_second))};
}

std::map<int, Time> cpu_of_trees(const std::vector<int>& roots) {
  namespace fs = std::filesystem;
  std::map<int, ProcessTimes> all;
  const long ticks = ::sysconf(_SC_CLK_TCK);
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const auto pid = parse_int(at->path().filename().string());
    if (!pid) continue;
    const auto text = read_file(at->path().string() + "/stat");
    if (!text) continue;
    if (const auto times = parse_process_times(*text, ticks)) all[int(*pid)] = *times;
  }
  std::map<int, Time> out;
  for (const int root : roots)
    if (all.count(root) > 0) out[root] = Time{0};
  for (const auto& [pid, times] : all) {
    int at = pid;  // up to a root; who was born meanwhile may make the way longer, never endless
    for (int steps = 0; steps < 10'000 && at > 1 && out.count(at) == 0; ++steps) {
      const auto parent = all.find(at);
      at = parent == all.end() ? 0 : parent->second.parent;
    }
    if (const auto root = out.find(at); root != out.end()) root->second += times.cpu;
  }
  return out;
}

}  // namespace smartmig
