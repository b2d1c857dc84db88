#include "eval/json_object.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"

namespace smartmig {
namespace {

bool has_control_character(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 32; });
}

std::string line_and_column(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(text.size(), byte > 0 ? byte - 1 : 0));
  const auto line_start = before.rfind('\n');
  return fmt::format("line {}, column {}", std::count(before.begin(), before.end(), '\n') + 1,
                     before.size() - (line_start == before.npos ? 0 : line_start + 1) + 1);
}

}  // namespace

Result<Json> parse_json(const std::string& name, std::string_view text) {
  std::vector<std::set<std::string>> open;
  std::optional<std::string> twice;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second && !twice)
      twice = parsed.get<std::string>();
    return true;
  };
  try {
    Json json = Json::parse(text.begin(), text.end(), watch);
    if (twice) return invalid("{}: an object gives the key '{}' twice", name, *twice);
    return json;
  } catch (const Json::parse_error& error) {
    return invalid("{} is not valid JSON: {}", name, line_and_column(text, error.byte));
  } catch (const Json::exception&) {
    return invalid("{} is not valid JSON: a number is out of range", name);
  }
}

Result<JsonObject> JsonObject::open(const Json& json, std::string name, std::string path,
                                    const std::vector<std::string>& known) {
  if (!json.is_object()) return invalid("{}: {} must be an object", name, path.empty() ? "its root" : path);
  const JsonObject object(json, std::move(name), std::move(path));
  for (const auto& [key, value] : json.items())
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      const std::string near = nearest(key, known);
      return object.error(
          key, fmt::format("is not a key of this object{}", near.empty() ? "" : ", did you mean " + near + "?"));
    }
  return object;
}

const Json* JsonObject::find(const std::string& key) const {
  const auto found = json_->find(key);
  return found == json_->end() || found->is_null() ? nullptr : &*found;
}

std::string JsonObject::path(std::string_view key) const {
  return fmt::format("{}{}{}", path_, path_.empty() ? "" : ".", key);
}

Error JsonObject::error(std::string_view key, std::string_view message) const {
  return invalid("{}: {} {}", name_, path(key), message);
}

Result<const Json*> JsonObject::list(const std::string& key) const {
  const Json* value = find(key);
  if (!value) return missing(key);
  if (!value->is_array()) return error(key, "must be a list");
  return value;
}

Result<std::string> JsonObject::text(const std::string& key) const {
  const Json* value = find(key);
  if (!value) return missing(key);
  if (!value->is_string()) return error(key, "must be a text");
  std::string out = value->get<std::string>();
  if (out.empty()) return error(key, "must not be empty");
  if (has_control_character(out)) return error(key, "holds a control character");
  return out;
}

Result<double> JsonObject::number(const std::string& key, double low, double high) const {
  const Json* value = find(key);
  if (!value) return missing(key);
  if (!value->is_number()) return error(key, "must be a number");
  const double out = value->get<double>();
  if (!(out >= low && out <= high))
    return error(key, fmt::format("must lie between {} and {}, not {}", low, high, out));
  return out;
}

Result<std::int64_t> JsonObject::integer(const std::string& key, std::int64_t low, std::int64_t high) const {
  const Json* value = find(key);
  if (!value) return missing(key);
  if (!value->is_number_integer()) return error(key, "must be a whole number");
  const bool huge = value->is_number_unsigned() && value->get<std::uint64_t>() > std::uint64_t(INT64_MAX);
  if (huge || value->get<std::int64_t>() < low || value->get<std::int64_t>() > high)
    return error(key, fmt::format("must lie between {} and {}, not {}", low, high, value->dump()));
  return value->get<std::int64_t>();
}

Result<std::string> JsonObject::text(const std::string& key, std::string_view fallback) const {
  return has(key) ? text(key) : Result<std::string>(std::string(fallback));
}

Result<double> JsonObject::number(const std::string& key, double low, double high, double fallback) const {
  return has(key) ? number(key, low, high) : Result<double>(fallback);
}

Result<std::int64_t> JsonObject::integer(const std::string& key, std::int64_t low, std::int64_t high,
                                         std::int64_t fallback) const {
  return has(key) ? integer(key, low, high) : Result<std::int64_t>(fallback);
}

}  // namespace smartmig
