#include "cli/simulate/trace_words.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/json.h"
#include "sim/traces/trace_formats.h"

namespace smartmig::cli {
namespace {

void print_list(const char* label, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  fmt::print("\n{}\n", label);
  for (const std::string& line : lines) fmt::print("  - {}\n", line);
}

}  // namespace

void print_reading(const Workload& workload, const TraceReading& reading, bool json) {
  if (json) {
    nlohmann::ordered_json out = {
        {"source", workload.source},    {"format", reading.format},        {"what", reading.what},
        {"known_by", reading.known_by}, {"documented_by", reading.source}, {"layout", reading.layout},
        {"jobs", workload.jobs.size()}};
    out["used"] = nlohmann::ordered_json::array();
    for (const TraceReading::Use& use : reading.used)
      out["used"].push_back({{"field", use.field}, {"column", use.column}, {"unit", use.unit}});
    out["unused"] = reading.unused;
    out["missing"] = nlohmann::ordered_json::array();
    for (const TraceReading::Gap& gap : reading.missing)
      out["missing"].push_back({{"field", gap.field}, {"instead", gap.instead}});
    out["map"] = reading.map.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(reading.map);
    out["assumed"] = workload.rules;
    out["warnings"] = reading.warnings;
    fmt::print("{}\n", json_dump(out, 2));
    return;
  }
  fmt::print("{}\n", workload.source);
  const auto line = [](const char* label, const std::string& text) {
    if (!text.empty()) fmt::print("  {:<14}{}\n", label, text);
  };
  line("format", reading.format + ": " + reading.what);
  line("known by", reading.known_by);
  line("documented", reading.source);
  line("layout", reading.layout);
  line("jobs", fmt::format("{}", workload.jobs.size()));
  if (!reading.used.empty()) fmt::print("\n  {:<12}{}\n", "field", "column (unit)");
  for (const TraceReading::Use& use : reading.used)
    fmt::print("  {:<12}{}{}\n", use.field, use.column, use.unit.empty() ? "" : " (" + use.unit + ")");
  if (!reading.unused.empty()) fmt::print("\nNot used: {}\n", fmt::join(reading.unused, ", "));
  std::vector<std::string> missing;
  for (const TraceReading::Gap& gap : reading.missing) missing.push_back(gap.field + ": " + gap.instead);
  print_list("Missing in the file", missing);
  if (!reading.map.empty()) fmt::print("\nThe same as an option, to copy and change\n  --map '{}'\n", reading.map);
  print_list("Assumed", workload.rules);
  print_list("Warnings", reading.warnings);
}

void print_formats(bool json) {
  if (json) {
    nlohmann::ordered_json out = {{"formats", nlohmann::ordered_json::array()}};
    for (const TraceFormat& format : trace_formats())
      out["formats"].push_back({{"format", format.name},
                                {"what", format.what},
                                {"known_by", format.known_by},
                                {"map", format.map},
                                {"documented_by", format.source}});
    fmt::print("{}\n", json_dump(out, 2));
    return;
  }
  for (const TraceFormat& format : trace_formats()) {
    fmt::print("{:<19}{}\n", format.name, format.what);
    if (!format.known_by.empty()) fmt::print("{:<19}columns {}\n", "", fmt::join(format.known_by, ", "));
    fmt::print("{:<19}{}\n", "", format.source);
  }
}

}  // namespace smartmig::cli
