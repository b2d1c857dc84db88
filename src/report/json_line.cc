#include "report/json_line.h"

#include <algorithm>

#include "base/json.h"

namespace smartmig {

Result<JsonLine> JsonLine::parse(std::string_view text, const std::string& file, std::int64_t line) {
  const std::string name = fmt::format("{} line {}", file, line);
  auto json = parse_json(name, text);
  if (!json) return invalid("{}; the file may be cut short or damaged", json.error().what);
  auto kept = std::make_unique<Json>(std::move(*json));
  SMARTMIG_TRY(JsonObject object, JsonObject::open(*kept, name, ""));
  return JsonLine(std::move(kept), std::move(object));
}

Result<std::int64_t> JsonLine::integer(const char* name, std::int64_t low, std::int64_t high) {
  names_.push_back(name);
  return object_.integer(name, low, high);
}

Result<std::int64_t> JsonLine::integer_or_null(const char* name, std::int64_t low, std::int64_t high,
                                               std::int64_t if_null) {
  if (!is_null(name)) return integer(name, low, high);
  names_.push_back(name);
  return if_null;
}

Result<double> JsonLine::number(const char* name, double low, double high) {
  names_.push_back(name);
  return object_.number(name, low, high);
}

Result<std::string> JsonLine::text(const char* name) {
  names_.push_back(name);
  return object_.any_text(name);
}

Result<const Json*> JsonLine::array(const char* name) {
  names_.push_back(name);
  return object_.list(name);
}

Result<Ok> JsonLine::take_null(const char* name) {
  names_.push_back(name);
  if (!is_null(name)) return error(name, "must be null");
  return Ok{};
}

Result<Ok> JsonLine::end() const {
  if (names_.size() == json_->size()) return Ok{};
  for (const auto& [key, value] : json_->items())
    if (std::find(names_.begin(), names_.end(), key) == names_.end())
      return error(valid_utf8(key), "is not known here");
  return Ok{};
}

}  // namespace smartmig
