// All JSON goes through here.
// Reading is strict, since others wrote the input. parse_json() refuses malformed text and duplicate keys. A JsonObject
// returns typed values by key. Every error names the file and the JSON path ("state.json: jobs[3].work_s.2g must be a
// number"). A null counts as absent unless a function says otherwise.
// Writing: json_text() escapes a text. It writes bytes that are not UTF-8 (in names from users' files, in messages from
// drivers) as \xNN, so every output is valid UTF-8. json_dump() writes a whole value and never throws; nlohmann's own
// dump() throws on the first byte that is not UTF-8.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smartmig {

using Json = nlohmann::json;

Result<Json> parse_json(const std::string& name, std::string_view text);

std::string json_text(std::string_view text);  // adds quotes; escapes '<', so it may appear inside a <script>
std::string valid_utf8(std::string_view text);
template <class AnyJson>  // Json or nlohmann::ordered_json
std::string json_dump(const AnyJson& json, int indent = -1) {
  return json.dump(indent, ' ', false, AnyJson::error_handler_t::replace);
}

class JsonObject {
 public:
  // `name` is the file's; `path` is empty for the root. Refuses keys outside `known`. Keeps a reference to `json`.
  static Result<JsonObject> open(const Json& json, std::string name, std::string path,
                                 const std::vector<std::string>& known);
  static Result<JsonObject> open(const Json& json, std::string name, std::string path);  // accepts any key

  const Json* find(const std::string& key) const;  // nullptr if absent or null
  bool has(const std::string& key) const { return find(key) != nullptr; }
  Result<const Json*> list(const std::string& key) const;
  Result<std::vector<std::string>> texts(const std::string& key) const;     // a list of texts
  Result<std::vector<std::uint64_t>> counts(const std::string& key) const;  // a list of whole numbers, 0 or more
  Result<std::string> text(const std::string& key) const;                   // not empty, no control character
  Result<std::string> any_text(const std::string& key) const;               // may be empty, may hold control characters
  Result<bool> yes_or_no(const std::string& key) const;
  Result<double> number(const std::string& key, double low, double high) const;
  Result<std::int64_t> integer(const std::string& key, std::int64_t low, std::int64_t high) const;
  // Like the above, but an absent value reads as the fallback.
  Result<std::string> text(const std::string& key, std::string_view fallback) const;
  Result<bool> yes_or_no(const std::string& key, bool fallback) const;
  Result<double> number(const std::string& key, double low, double high, double fallback) const;
  Result<std::int64_t> integer(const std::string& key, std::int64_t low, std::int64_t high,
                               std::int64_t fallback) const;
  // Checks an entry of a list in the same way; errors name the list's key.
  Result<std::int64_t> integer_in(const Json& entry, const std::string& key, std::int64_t low, std::int64_t high) const;
  Result<std::string> text_in(const Json& entry, const std::string& key) const;

  std::string path(std::string_view key) const;                       // "jobs[3].slice"
  Error error(std::string_view key, std::string_view message) const;  // "FILE: jobs[3].slice message"

 private:
  JsonObject(const Json& json, std::string name, std::string path)
      : json_(&json), name_(std::move(name)), path_(std::move(path)) {}
  Result<const Json*> present(const std::string& key) const;
  const Json* json_;
  std::string name_, path_;
};

}  // namespace smartmig
