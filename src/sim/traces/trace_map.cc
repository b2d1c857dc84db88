#include "sim/traces/trace_map.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "sim/traces/trace_times.h"

namespace smartmig {
namespace {

enum class UnitKind { kNone, kInstant, kTime, kGpus, kShare, kMemory };
struct FieldRule {
  std::string_view name;
  UnitKind units;
};
constexpr std::array<FieldRule, kTraceFields> kFieldRules = {{{"id", UnitKind::kNone},
                                                              {"submit", UnitKind::kInstant},
                                                              {"start", UnitKind::kInstant},
                                                              {"end", UnitKind::kInstant},
                                                              {"duration", UnitKind::kTime},
                                                              {"deadline", UnitKind::kInstant},
                                                              {"due_in", UnitKind::kTime},
                                                              {"slo", UnitKind::kNone},
                                                              {"gpus", UnitKind::kGpus},
                                                              {"share", UnitKind::kShare},
                                                              {"copies", UnitKind::kNone},
                                                              {"memory", UnitKind::kMemory},
                                                              {"kind", UnitKind::kNone},
                                                              {"batch", UnitKind::kNone},
                                                              {"class", UnitKind::kNone},
                                                              {"tokens_in", UnitKind::kNone},
                                                              {"tokens_out", UnitKind::kNone}}};

bool is_unit(UnitKind kind, std::string_view unit) {
  switch (kind) {
    case UnitKind::kInstant:
      return unit == "date" || seconds_in(unit);
    case UnitKind::kTime:
      return seconds_in(unit).has_value();
    case UnitKind::kGpus:
      return unit == "percent" || unit == "milli" || unit == "tres";
    case UnitKind::kShare:
      return unit == "percent" || unit == "milli";
    case UnitKind::kMemory:
      return mib_in(unit).has_value();
    default:
      return false;
  }
}

std::string units_in_words(UnitKind kind) {
  switch (kind) {
    case UnitKind::kInstant:
      return "s, ms, us, ns, min, h, d or date";
    case UnitKind::kTime:
      return "s, ms, us, ns, min, h or d";
    case UnitKind::kGpus:
      return "percent, milli or tres";
    case UnitKind::kShare:
      return "percent or milli";
    case UnitKind::kMemory:
      return "mib, gib, mb, gb, kib or bytes";
    default:
      return "none";
  }
}

// The pieces between commas outside double quotes.
std::vector<std::string> split_outside_quotes(std::string_view text) {
  std::vector<std::string> pieces(1);
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted)
      pieces.emplace_back();
    else
      pieces.back() += c;
  }
  return pieces;
}

}  // namespace

std::string_view name_of(TraceField field) { return kFieldRules[std::size_t(field)].name; }

Result<TraceMap> parse_trace_map(std::string_view text) {
  TraceMap map;
  std::vector<std::string> names;
  for (const FieldRule& field : kFieldRules) names.emplace_back(field.name);
  for (const std::string& piece : split_outside_quotes(text)) {
    const std::string_view item = trim(piece);
    const auto equals = item.find('=');
    const std::string name = lower(trim(item.substr(0, equals)));
    const auto found = std::find(names.begin(), names.end(), name);
    if (equals == item.npos || found == names.end()) {
      const std::string near = nearest(name, names);
      return invalid("map: '{}' is not FIELD=COLUMN[:UNIT] with a field of {}{}", item, fmt::join(names, ", "),
                     near.empty() ? "" : fmt::format(" (did you mean {}?)", near));
    }
    const std::size_t at = std::size_t(found - names.begin());
    TraceMap::Entry& entry = map.entries[at];
    if (entry.given()) return invalid("map: '{}' is given twice", name);
    std::string_view column = trim(item.substr(equals + 1));
    if (column.starts_with('"')) {
      const auto close = column.find('"', 1);
      if (close == column.npos) return invalid("map: the quotes of '{}' are not closed", item);
      entry.column = column.substr(1, close - 1);
      column = trim(column.substr(close + 1));
      if (!column.empty() && column[0] != ':') return invalid("map: text after the quotes in '{}'", item);
      if (!column.empty()) entry.unit = lower(trim(column.substr(1)));
    } else {
      entry.constant = column.starts_with('@');
      if (entry.constant) column.remove_prefix(1);
      const auto colon = entry.constant ? column.npos : column.rfind(':');
      entry.column = trim(column.substr(0, colon));
      if (colon != column.npos) entry.unit = lower(trim(column.substr(colon + 1)));
    }
    if (entry.column.empty()) return invalid("map: '{}' names no column", item);
    if (!entry.unit.empty() && !is_unit(kFieldRules[at].units, entry.unit))
      return invalid("map: '{}' is not a unit of {}: {} (put a column name that has a colon in double quotes)",
                     entry.unit, name, units_in_words(kFieldRules[at].units));
  }
  return map;
}

}  // namespace smartmig
