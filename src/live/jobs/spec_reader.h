// Reads the values of one JSON object by key, as the rows of job_fields.h ask for them. The first complaint is kept;
// every later value reads as its fallback, so a row needs no error path.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/units.h"

namespace smartmig {

class SpecReader {
 public:
  static constexpr std::size_t kMostBytes = 4u << 20;  // of command, environment and script, each
  static constexpr std::size_t kMostTexts = 65'536;    // in one list
  static constexpr std::size_t kLongestName = 255, kLongestPath = 4'095;

  SpecReader(JsonObject object, UnixTime at) : now(at), object_(std::move(object)) {}
  const UnixTime now;  // what "seconds from now" counts from
  std::optional<Error> error;

  void complain(std::string_view key, std::string_view what);
  bool has(const char* key) const { return object_.has(key); }
  const Json* find(const char* key) const { return object_.find(key); }
  std::string text(const char* key, std::size_t longest);
  std::string script(const char* key);  // any character but the zero byte
  std::vector<std::string> texts(const char* key, std::size_t most = kMostTexts);
  int integer(const char* key, std::int64_t low, std::int64_t high);
  std::vector<int> integers(const char* key, std::size_t most, std::int64_t low, std::int64_t high, const char* what);
  double number(const char* key, double low, double high);
  Time duration(const char* key, double least);
  UnixTime instant(const char* key) { return UnixTime(duration(key, 0)); }
  bool yes(const char* key);

 private:
  std::string text_of(const char* key, const Json& value, std::size_t longest, bool any_character);
  template <class T>
  T kept(const Result<T>& value, T fallback) {
    if (value) return *value;
    if (!error) error = value.error();
    return fallback;
  }
  JsonObject object_;
};

}  // namespace smartmig
