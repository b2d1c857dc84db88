// Strict reading of JSON written by others: parse_json() refuses what is malformed or gives a key twice, a JsonObject
// gives typed values by key. Every complaint names file and JSON path ("state.json: jobs[3].work_s.2g ..."). Null is
// absent.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smartmig {

using Json = nlohmann::json;

Result<Json> parse_json(const std::string& name, std::string_view text);

class JsonObject {
 public:
  // `name` is the file's, `path` empty for its root. Refuses a key outside `known`. Keeps a reference to `json`.
  static Result<JsonObject> open(const Json& json, std::string name, std::string path,
                                 const std::vector<std::string>& known);

  const Json* find(const std::string& key) const;  // nullptr where there is none or null
  bool has(const std::string& key) const { return find(key) != nullptr; }
  Result<const Json*> list(const std::string& key) const;
  Result<std::string> text(const std::string& key) const;  // not empty, no control character
  Result<double> number(const std::string& key, double low, double high) const;
  Result<std::int64_t> integer(const std::string& key, std::int64_t low, std::int64_t high) const;
  // The same, with an absent value reading as the fallback.
  Result<std::string> text(const std::string& key, std::string_view fallback) const;
  Result<double> number(const std::string& key, double low, double high, double fallback) const;
  Result<std::int64_t> integer(const std::string& key, std::int64_t low, std::int64_t high,
                               std::int64_t fallback) const;

  std::string path(std::string_view key) const;                       // "jobs[3].slice"
  Error error(std::string_view key, std::string_view message) const;  // "FILE: jobs[3].slice message"

 private:
  JsonObject(const Json& json, std::string name, std::string path)
      : json_(&json), name_(std::move(name)), path_(std::move(path)) {}
  Error missing(const std::string& key) const { return error(key, "is missing"); }
  const Json* json_;
  std::string name_, path_;
};

}  // namespace smartmig
