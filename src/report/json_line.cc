#include "report/json_line.h"

#include <algorithm>
#include <set>

#include "report/quote.h"

namespace smartmig {
using nlohmann::json;

Result<JsonLine> JsonLine::parse(std::string_view text, const std::string& file, std::int64_t line) {
  JsonLine out;
  out.file_ = file;
  out.line_ = line;
  std::string twice;
  std::vector<std::set<std::string>> open;  // keys of the objects being read
  const auto watch = [&](int, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second)
      twice = value.get<std::string>();
    return true;
  };
  out.object_ = json::parse(text, watch, false);
  if (out.object_.is_discarded() || !out.object_.is_object())
    return invalid("{} line {}: it is not a whole JSON object; the file may be cut short or damaged", file, line);
  if (!twice.empty()) return out.error(twice, "is given twice");
  return out;
}

Error JsonLine::error(std::string_view field, std::string_view message) const {
  return invalid("{} line {}, field '{}': {}", file_, line_, valid_utf8(field), message);
}

Result<const json*> JsonLine::take(const char* name) {
  const auto found = object_.find(name);
  if (found == object_.end()) return error(name, "is missing");
  names_.push_back(name);
  return &*found;
}

Result<std::int64_t> JsonLine::integer_in(const json& value, const char* name, std::int64_t low,
                                          std::int64_t high) const {
  if (!value.is_number_integer()) return error(name, "must be a whole number");
  const bool huge = value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t(INT64_MAX);
  const std::int64_t got = huge ? INT64_MAX : value.get<std::int64_t>();
  if (huge || got < low || got > high) return error(name, fmt::format("must lie between {} and {}", low, high));
  return got;
}

Result<std::int64_t> JsonLine::integer(const char* name, std::int64_t low, std::int64_t high) {
  SMARTMIG_TRY(const json* value, take(name));
  return integer_in(*value, name, low, high);
}

Result<std::int64_t> JsonLine::integer_or_null(const char* name, std::int64_t low, std::int64_t high,
                                               std::int64_t if_null) {
  SMARTMIG_TRY(const json* value, take(name));
  if (value->is_null()) return if_null;
  return integer_in(*value, name, low, high);
}

Result<double> JsonLine::number(const char* name, double low, double high) {
  SMARTMIG_TRY(const json* value, take(name));
  if (!value->is_number()) return error(name, "must be a number");
  const double got = value->get<double>();
  if (!(got >= low && got <= high)) return error(name, fmt::format("must lie between {} and {}", low, high));
  return got;
}

Result<std::string> JsonLine::text(const char* name) {
  SMARTMIG_TRY(const json* value, take(name));
  if (!value->is_string()) return error(name, "must be a text in quotes");
  return value->get<std::string>();
}

Result<const json*> JsonLine::array(const char* name) {
  SMARTMIG_TRY(const json* value, take(name));
  if (!value->is_array()) return error(name, "must be a list in [ ]");
  return value;
}

Result<Ok> JsonLine::take_null(const char* name) {
  SMARTMIG_TRY(const json* value, take(name));
  if (!value->is_null()) return error(name, "must be null");
  return Ok{};
}

Result<Ok> JsonLine::end() const {
  if (names_.size() == object_.size()) return Ok{};
  for (const auto& [key, value] : object_.items())
    if (std::find(names_.begin(), names_.end(), key) == names_.end()) return error(key, "is not known here");
  return Ok{};
}

}  // namespace smartmig
