#include "base/json.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.h"

namespace smartmig {
namespace {

// Length of the UTF-8 sequence at the front; 0 if there is none. Over-long forms and surrogates do not count.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return std::uint8_t(text[i]); };
  const auto tail = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return tail(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!tail(1) || !tail(2)) return 0;
    if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F)) return 0;
    return 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!tail(1) || !tail(2) || !tail(3)) return 0;
    if ((first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F)) return 0;
    return 4;
  }
  return 0;
}

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
    if (twice) return invalid("{}: an object has the key '{}' twice", name, *twice);
    return json;
  } catch (const Json::parse_error& error) {
    return invalid("{} is not valid JSON: {}", name, line_and_column(text, error.byte));
  } catch (const Json::exception&) {
    return invalid("{} is not valid JSON: a number is out of range", name);
  }
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0)
      out += fmt::format("\\x{:02X}", std::uint8_t(text[0]));
    else
      out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : valid_utf8(text)) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (std::uint8_t(c) < 0x20 || c == 0x7F || c == '<')
          out += fmt::format("\\u{:04x}", unsigned(std::uint8_t(c)));
        else
          out += c;
    }
  }
  return out + '"';
}

Result<JsonObject> JsonObject::open(const Json& json, std::string name, std::string path) {
  if (!json.is_object()) return invalid("{}: {} must be an object", name, path.empty() ? "its root" : path);
  return JsonObject(json, std::move(name), std::move(path));
}

Result<JsonObject> JsonObject::open(const Json& json, std::string name, std::string path,
                                    const std::vector<std::string>& known) {
  SMARTMIG_TRY(JsonObject object, open(json, std::move(name), std::move(path)));
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

Result<const Json*> JsonObject::present(const std::string& key) const {
  const Json* value = find(key);
  if (!value) return error(key, "is missing");
  return value;
}

Result<const Json*> JsonObject::list(const std::string& key) const {
  SMARTMIG_TRY(const Json* value, present(key));
  if (!value->is_array()) return error(key, "must be a list");
  return value;
}

Result<std::vector<std::string>> JsonObject::texts(const std::string& key) const {
  SMARTMIG_TRY(const Json* entries, list(key));
  std::vector<std::string> out;
  for (const Json& entry : *entries) {
    if (!entry.is_string()) return error(key, "must have only texts");
    out.push_back(entry.get<std::string>());
  }
  return out;
}

Result<std::vector<std::uint64_t>> JsonObject::counts(const std::string& key) const {
  SMARTMIG_TRY(const Json* entries, list(key));
  std::vector<std::uint64_t> out;
  for (const Json& entry : *entries) {
    if (!entry.is_number_unsigned()) return error(key, "must have only whole numbers");
    out.push_back(entry.get<std::uint64_t>());
  }
  return out;
}

Result<std::string> JsonObject::text_in(const Json& entry, const std::string& key) const {
  if (!entry.is_string()) return error(key, "must be a text");
  return entry.get<std::string>();
}

Result<std::string> JsonObject::any_text(const std::string& key) const {
  SMARTMIG_TRY(const Json* value, present(key));
  return text_in(*value, key);
}

Result<std::string> JsonObject::text(const std::string& key) const {
  SMARTMIG_TRY(std::string out, any_text(key));
  if (out.empty()) return error(key, "must not be empty");
  if (has_control_character(out)) return error(key, "has a control character");
  return out;
}

Result<bool> JsonObject::yes_or_no(const std::string& key) const {
  SMARTMIG_TRY(const Json* value, present(key));
  if (!value->is_boolean()) return error(key, "must be true or false");
  return value->get<bool>();
}

Result<double> JsonObject::number(const std::string& key, double low, double high) const {
  SMARTMIG_TRY(const Json* value, present(key));
  if (!value->is_number()) return error(key, "must be a number");
  const double out = value->get<double>();
  if (!(out >= low && out <= high)) return error(key, fmt::format("must be between {} and {}, not {}", low, high, out));
  return out;
}

Result<std::int64_t> JsonObject::integer_in(const Json& entry, const std::string& key, std::int64_t low,
                                            std::int64_t high) const {
  if (!entry.is_number_integer()) return error(key, "must be a whole number");
  const bool huge = entry.is_number_unsigned() && entry.get<std::uint64_t>() > std::uint64_t(INT64_MAX);
  if (huge || entry.get<std::int64_t>() < low || entry.get<std::int64_t>() > high)
    return error(key, fmt::format("must be between {} and {}, not {}", low, high, json_dump(entry)));
  return entry.get<std::int64_t>();
}

Result<std::int64_t> JsonObject::integer(const std::string& key, std::int64_t low, std::int64_t high) const {
  SMARTMIG_TRY(const Json* value, present(key));
  return integer_in(*value, key, low, high);
}

Result<std::string> JsonObject::text(const std::string& key, std::string_view fallback) const {
  return has(key) ? text(key) : Result<std::string>(std::string(fallback));
}

Result<bool> JsonObject::yes_or_no(const std::string& key, bool fallback) const {
  return has(key) ? yes_or_no(key) : Result<bool>(fallback);
}

Result<double> JsonObject::number(const std::string& key, double low, double high, double fallback) const {
  return has(key) ? number(key, low, high) : Result<double>(fallback);
}

Result<std::int64_t> JsonObject::integer(const std::string& key, std::int64_t low, std::int64_t high,
                                         std::int64_t fallback) const {
  return has(key) ? integer(key, low, high) : Result<std::int64_t>(fallback);
}

}  // namespace smartmig
