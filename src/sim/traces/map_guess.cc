#include "sim/traces/map_guess.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace smartmig {
namespace {

struct Words {
  const char* field;
  std::vector<const char*> parts;  // of a column's name in lower case; earlier ones count more
  bool time = false;
};

const std::vector<Words>& words() {
  static const std::vector<Words> table = {
      {"id", {"job_id", "jobid", "job", "uuid", "id"}},
      {"submit", {"submit", "arriv", "creat", "queued", "timestamp", "time"}, true},
      {"duration", {"duration", "runtime", "run_time", "elapsed", "length", "service"}, true},
      {"start", {"start", "begin", "scheduled"}, true},
      {"end", {"end", "finish", "complet", "delet"}, true},
      {"deadline", {"deadline", "due", "ddl"}, true},
      {"gpus", {"num_gpu", "gpu_num", "gpus", "gpu_count", "ngpu"}},
      {"memory", {"memory", "mem"}},
      {"kind", {"model", "kind", "application", "workload"}},
      {"class", {"class", "type"}},
  };
  return table;
}

std::string unit_of(std::string_view column) {
  static constexpr std::array<std::pair<const char*, const char*>, 10> kEnds = {{{"_ms", ":ms"},
                                                                                 {"millis", ":ms"},
                                                                                 {"_us", ":us"},
                                                                                 {"_ns", ":ns"},
                                                                                 {"_min", ":min"},
                                                                                 {"minutes", ":min"},
                                                                                 {"_h", ":h"},
                                                                                 {"hours", ":h"},
                                                                                 {"_d", ":d"},
                                                                                 {"days", ":d"}}};
  for (const auto& [end, unit] : kEnds)
    if (column.ends_with(end)) return unit;
  return ":s";
}

std::string as_quoted(const std::string& column) {
  return column.find_first_of(",=: ") == column.npos ? column : '"' + column + '"';
}

}  // namespace

MapGuess guess_map(const std::vector<std::string>& header) {
  MapGuess guess;
  std::vector<bool> used(header.size(), false);
  std::vector<std::string> pieces;
  for (const Words& row : words()) {
    std::size_t found = header.size();
    for (const char* part : row.parts)
      for (std::size_t c = 0; c < header.size() && found == header.size(); ++c)
        if (!used[c] && lower(header[c]).find(part) != std::string::npos) found = c;
    const std::string_view field = row.field;
    if (found < header.size()) {
      used[found] = true;
      pieces.push_back(
          fmt::format("{}={}{}", field, as_quoted(header[found]), row.time ? unit_of(lower(header[found])) : ""));
    } else if (field == "submit" || field == "duration") {
      guess.missing.emplace_back(field);
      pieces.push_back(fmt::format("{}=COLUMN:s", field));
    }
  }
  const auto begins = [](std::string_view with) {
    return [with](const std::string& piece) { return piece.starts_with(with); };
  };
  if (std::any_of(pieces.begin(), pieces.end(), begins("start=")) &&
      std::any_of(pieces.begin(), pieces.end(), begins("end="))) {  // the duration follows from them
    std::erase_if(pieces, begins("duration=COLUMN"));
    std::erase(guess.missing, "duration");
  }
  guess.text = fmt::format("{}", fmt::join(pieces, ","));
  return guess;
}

std::string map_of(const TraceReading& reading) {
  std::vector<std::string> pieces;
  for (const TraceReading::Use& use : reading.used) {
    constexpr std::string_view kAlways = "always ";
    if (use.column.starts_with(kAlways))
      pieces.push_back(fmt::format("{}=@{}", use.field, use.column.substr(kAlways.size())));
    else if (use.column.find(' ') == use.column.npos || use.column.find_first_of("();") == use.column.npos)
      pieces.push_back(
          fmt::format("{}={}{}", use.field, as_quoted(use.column), use.unit.empty() ? "" : ":" + use.unit));
  }
  return fmt::format("{}", fmt::join(pieces, ","));
}

}  // namespace smartmig
