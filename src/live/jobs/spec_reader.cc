#include "live/jobs/spec_reader.h"

namespace smartmig {

void SpecReader::complain(std::string_view key, std::string_view what) {
  if (!error) error = object_.error(key, what);
}

std::string SpecReader::text_of(const char* key, const Json& value, std::size_t longest, bool any_character) {
  const std::string out = kept(object_.text_in(value, key), std::string());
  if (out.size() > longest) complain(key, fmt::format("is longer than {} bytes", longest));
  for (const char c : out)
    if (c == '\0' || (!any_character && static_cast<unsigned char>(c) < 32)) {
      complain(key, "contains a control character");
      break;
    }
  return out;
}

std::string SpecReader::text(const char* key, std::size_t longest) {
  const Json* value = find(key);
  return value ? text_of(key, *value, longest, false) : "";
}

std::string SpecReader::script(const char* key) {
  const Json* value = find(key);
  return value ? text_of(key, *value, kMostBytes, true) : "";
}

std::vector<std::string> SpecReader::texts(const char* key, std::size_t most) {
  std::vector<std::string> out;
  const Json* value = find(key);
  if (!value) return out;
  if (!value->is_array() || value->size() > most) {
    complain(key, fmt::format("must be a list of at most {} strings", most));
    return out;
  }
  std::size_t bytes = 0;
  for (const Json& item : *value) {
    out.push_back(text_of(key, item, kMostBytes, true));
    bytes += out.back().size() + 1;
  }
  if (bytes > kMostBytes) complain(key, fmt::format("has {} bytes, more than {}", bytes, kMostBytes));
  return out;
}

int SpecReader::integer(const char* key, std::int64_t low, std::int64_t high) {
  return int(kept(object_.integer(key, low, high), low));
}

std::vector<int> SpecReader::integers(const char* key, std::size_t most, std::int64_t low, std::int64_t high,
                                      const char* what) {
  std::vector<int> out;
  const Json* value = find(key);
  if (!value) return out;
  if (!value->is_array() || value->size() > most) {
    complain(key, fmt::format("must be a list of at most {} {}", most, what));
    return out;
  }
  for (const Json& item : *value) out.push_back(int(kept(object_.integer_in(item, key, low, high), low)));
  return out;
}

double SpecReader::number(const char* key, double low, double high) {
  return kept(object_.number(key, low, high), low);
}

Time SpecReader::duration(const char* key, double least) { return from_seconds(number(key, least, kMaxSeconds)); }

bool SpecReader::yes(const char* key) { return kept(object_.yes_or_no(key), false); }

}  // namespace smartmig
