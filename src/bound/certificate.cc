#include "bound/certificate.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace smartmig {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kMaxWindows = 2'000'000;

std::string quoted(const std::string& text) { return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace); }
std::string list_of(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (std::size_t i = 0; i < texts.size(); ++i) out += (i ? ", " : "") + quoted(texts[i]);
  return out + "]";
}

// Typed fields of one object; each complaint names file and field.
struct Fields {
  const std::string& name;
  const Json& json;

  Error error(const char* key, std::string_view what) const { return invalid("{}: {} {}", name, key, what); }
  const Json* find(const char* key) const {
    const auto it = json.find(key);
    return it == json.end() ? nullptr : &*it;
  }
  Result<double> number(const char* key, double low, double high) const {
    const Json* j = find(key);
    if (!j || !j->is_number()) return error(key, "should be a number");
    const double v = j->get<double>();
    if (!(v >= low && v <= high)) return error(key, fmt::format("is {}, outside {} to {}", v, low, high));
    return v;
  }
  Result<std::string> text(const char* key) const {
    const Json* j = find(key);
    if (!j || !j->is_string()) return error(key, "should be a text");
    return j->get<std::string>();
  }
  Result<const Json*> list(const char* key, std::size_t most) const {
    const Json* j = find(key);
    if (!j || !j->is_array()) return error(key, "should be a list");
    if (j->size() > most) return error(key, fmt::format("has {} entries, at most {} are read", j->size(), most));
    return j;
  }
  Result<std::vector<std::string>> texts(const char* key) const {
    SMARTMIG_TRY(const Json* j, list(key, 64));
    std::vector<std::string> out;
    for (const Json& entry : *j) {
      if (!entry.is_string()) return error(key, "should be a list of texts");
      out.push_back(entry.get<std::string>());
    }
    return out;
  }
};

Result<Prices> parse_prices(const Fields& fields, std::size_t classes) {
  Prices prices;
  SMARTMIG_TRY(const Json* edges, fields.list("edges_us", kMaxWindows));
  prices.windows.edges.clear();
  for (const Json& edge : *edges) {
    if (!edge.is_number_integer()) return fields.error("edges_us", "should hold whole microseconds");
    if (edge.is_number_unsigned() && edge.get<std::uint64_t>() > std::uint64_t(kMaxSeconds * 1e6))
      return fields.error("edges_us", "holds a time out of range");
    const std::int64_t us = edge.get<std::int64_t>();
    if (prices.windows.edges.empty() ? us != 0 : us <= prices.windows.edges.back())
      return fields.error("edges_us", "should start at 0 and increase");
    prices.windows.edges.push_back(us);
  }
  if (prices.windows.edges.empty()) return fields.error("edges_us", "should start at 0");
  SMARTMIG_TRY(const Json* rows, fields.list("prices", kMaxWindows));
  if (rows->size() != prices.windows.edges.size())
    return fields.error("prices", fmt::format("has {} rows, {} are needed: one per window and one for the tail",
                                              rows->size(), prices.windows.edges.size()));
  for (const Json& row : *rows) {
    if (!row.is_array() || row.size() != classes)
      return fields.error("prices", fmt::format("should hold rows of {} numbers, one per class", classes));
    for (const Json& price : row) {
      if (!price.is_number()) return fields.error("prices", "should hold numbers");
      const double v = price.get<double>();
      if (!(v >= 0 && v <= 1e15))
        return fields.error("prices", fmt::format("holds {}: a price is at least 0 and finite", v));
      prices.values.push_back(v);
    }
  }
  return prices;
}

}  // namespace

std::vector<std::string> class_names(const Platform& platform, const std::vector<SliceClass>& classes) {
  std::vector<std::string> names;
  for (const SliceClass& c : classes)
    names.push_back(fmt::format("{}/{}", platform.models()[std::size_t(c.model)].gpu->name(), c.compute_slices));
  return names;
}

std::string certificate_json(const Certificate& c) {
  std::string out = fmt::format(
      "{{\"format\": \"smartmig-bound\", \"version\": 1, \"objective\": \"{}\", \"a\": {}, \"bound\": {}, \"gpus\": "
      "{}, \"power\": {}, "
      "\"power_models\": {}, \"jobs\": {}, \"workload_hash\": \"{:016x}\", \"workload\": {}, \"share\": {}, "
      "\"classes\": {},\n\"edges_us\": [{}],\n\"prices\": [",
      name_of(c.objective), c.a, c.bound, quoted(c.gpus), quoted(c.power), list_of(c.power_models), c.jobs,
      c.workload_hash, quoted(c.workload), c.share, list_of(c.classes), fmt::join(c.prices.windows.edges, ","));
  const std::size_t classes = c.classes.size();
  for (std::size_t w = 0; w <= c.prices.windows.count(); ++w) {
    out += w ? ",\n[" : "[";
    for (std::size_t k = 0; k < classes; ++k)
      out += fmt::format("{}{}", k ? "," : "", c.prices.values[w * classes + k]);
    out += "]";
  }
  return out + "]}\n";
}

Result<Certificate> parse_certificate(const std::string& name, std::string_view text) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (json.is_discarded()) return invalid("{} is not JSON: it is cut off or damaged", name);
  if (!json.is_object()) return invalid("{} is not a certificate: it should be a JSON object", name);
  const Fields fields{name, json};
  const auto format = fields.text("format");
  if (!format || *format != "smartmig-bound")
    return invalid("{} is not a certificate of smartmig bound: its format is not smartmig-bound", name);
  SMARTMIG_TRY(const double version, fields.number("version", 0, 1e9));
  if (version != 1) return invalid("{}: version {} is not known, this program reads version 1", name, version);
  Certificate c;
  SMARTMIG_TRY(const std::string objective, fields.text("objective"));
  const auto parsed = parse_objective(objective);
  if (!parsed) return fields.error("objective", "should be et, energy or tardiness");
  c.objective = *parsed;
  SMARTMIG_TRY(c.a, fields.number("a", 0, 1e9));
  SMARTMIG_TRY(c.bound, fields.number("bound", -1e300, 1e300));
  SMARTMIG_TRY(c.share, fields.number("share", 0, 1));
  SMARTMIG_TRY(c.gpus, fields.text("gpus"));
  SMARTMIG_TRY(c.power, fields.text("power"));
  SMARTMIG_TRY(c.power_models, fields.texts("power_models"));
  SMARTMIG_TRY(const double jobs, fields.number("jobs", 0, 1e12));
  if (jobs != std::floor(jobs)) return fields.error("jobs", "should be a whole number");
  c.jobs = std::uint64_t(jobs);
  SMARTMIG_TRY(const std::string hash, fields.text("workload_hash"));
  if (hash.size() != 16 || hash.find_first_not_of("0123456789abcdef") != hash.npos)
    return fields.error("workload_hash", "should be 16 hexadecimal digits");
  for (const char digit : hash)
    c.workload_hash = c.workload_hash << 4 | std::uint64_t(digit <= '9' ? digit - '0' : digit - 'a' + 10);
  SMARTMIG_TRY(c.workload, fields.text("workload"));
  SMARTMIG_TRY(c.classes, fields.texts("classes"));
  if (c.classes.empty()) return fields.error("classes", "should not be empty");
  SMARTMIG_TRY(c.prices, parse_prices(fields, c.classes.size()));
  return c;
}

}  // namespace smartmig
