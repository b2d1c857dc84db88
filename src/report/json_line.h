// One JSON object of a line-oriented file, read strictly: every field by name and type, none left over. Errors name
// file and line ("journal.jsonl line 3: gpu must be a whole number"). Unlike elsewhere, a nullable field must be
// written as null.
#pragma once
#include <memory>

#include "base/json.h"

namespace smartmig {

class JsonLine {
 public:
  static Result<JsonLine> parse(std::string_view text, const std::string& file, std::int64_t line);

  bool has(const char* name) const { return json_->contains(name); }
  // Each marks the field as read. A missing field or one of another type is an error.
  Result<std::int64_t> integer(const char* name, std::int64_t low, std::int64_t high);
  Result<double> number(const char* name, double low, double high);
  Result<std::string> text(const char* name);
  Result<const Json*> array(const char* name);
  // As above, but null reads as `if_null`.
  Result<std::int64_t> integer_or_null(const char* name, std::int64_t low, std::int64_t high, std::int64_t if_null);

  bool is_null(const char* name) const { return has(name) && (*json_)[name].is_null(); }
  Result<Ok> take_null(const char* name);

  // Checks an entry of an array in the same way.
  Result<std::int64_t> integer_in(const Json& value, const char* name, std::int64_t low, std::int64_t high) const {
    return object_.integer_in(value, name, low, high);
  }

  Result<Ok> end() const;  // kInvalid if a field was not read: it is unknown
  Error error(std::string_view field, std::string_view message) const { return object_.error(field, message); }

 private:
  JsonLine(std::unique_ptr<Json> json, JsonObject object) : json_(std::move(json)), object_(std::move(object)) {}
  std::unique_ptr<Json> json_;  // object_ points into it
  JsonObject object_;
  std::vector<std::string_view> names_;  // names of the fields read; they are literals
};

}  // namespace smartmig
