// One JSON object of a line-oriented file, read strictly: every field by name and type, none left over. Every complaint
// names file, line and field.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smartmig {

class JsonLine {
 public:
  static Result<JsonLine> parse(std::string_view text, const std::string& file, std::int64_t line);

  bool has(const char* name) const { return object_.contains(name); }
  // Each marks the field as read; a missing one or one of another type is an error.
  Result<std::int64_t> integer(const char* name, std::int64_t low, std::int64_t high);
  Result<double> number(const char* name, double low, double high);
  Result<std::string> text(const char* name);
  Result<const nlohmann::json*> array(const char* name);
  // As above, null reading as `if_null`.
  Result<std::int64_t> integer_or_null(const char* name, std::int64_t low, std::int64_t high, std::int64_t if_null);

  bool is_null(const char* name) const { return has(name) && object_[name].is_null(); }
  Result<Ok> take_null(const char* name);

  // The value of an array's entry, checked alike.
  Result<std::int64_t> integer_in(const nlohmann::json& value, const char* name, std::int64_t low,
                                  std::int64_t high) const;

  Result<Ok> end() const;  // kInvalid if a field was not read: it is unknown here
  Error error(std::string_view field, std::string_view message) const;

 private:
  Result<const nlohmann::json*> take(const char* name);
  nlohmann::json object_;
  std::string file_;
  std::int64_t line_ = 0;
  std::vector<std::string_view> names_;  // of the fields read; they are literals
};

}  // namespace smartmig
