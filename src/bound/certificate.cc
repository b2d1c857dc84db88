#include "bound/certificate.h"

#include "base/json.h"

namespace smartmig {
namespace {

constexpr std::size_t kMaxWindows = 2'000'000;

std::string list_of(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (std::size_t i = 0; i < texts.size(); ++i) out += (i ? ", " : "") + json_text(texts[i]);
  return out + "]";
}

Result<const Json*> bounded_list(const JsonObject& fields, const char* key, std::size_t most) {
  SMARTMIG_TRY(const Json* list, fields.list(key));
  if (list->size() > most)
    return fields.error(key, fmt::format("has {} entries, at most {} are read", list->size(), most));
  return list;
}

Result<std::vector<std::string>> texts_in(const JsonObject& fields, const char* key) {
  SMARTMIG_TRY(const Json* list, bounded_list(fields, key, 64));
  std::vector<std::string> out;
  for (const Json& entry : *list) {
    SMARTMIG_TRY(std::string text, fields.text_in(entry, key));
    out.push_back(std::move(text));
  }
  return out;
}

Result<Prices> parse_prices(const JsonObject& fields, std::size_t classes) {
  Prices prices;
  SMARTMIG_TRY(const Json* edges, bounded_list(fields, "edges_us", kMaxWindows));
  prices.windows.edges.clear();
  for (const Json& edge : *edges) {
    SMARTMIG_TRY(const std::int64_t us, fields.integer_in(edge, "edges_us", 0, std::int64_t(kMaxSeconds * 1e6)));
    if (prices.windows.edges.empty() ? us != 0 : us <= prices.windows.edges.back())
      return fields.error("edges_us", "should start at 0 and increase");
    prices.windows.edges.push_back(us);
  }
  if (prices.windows.edges.empty()) return fields.error("edges_us", "should start at 0");
  SMARTMIG_TRY(const Json* rows, bounded_list(fields, "prices", kMaxWindows));
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

// The checker decides whether jobs and windows exist.
Result<OwnPrices> parse_own_prices(const JsonObject& fields, const Json& json) {
  OwnPrices own;
  if (!json.contains("own")) return own;
  SMARTMIG_TRY(const Json* list, bounded_list(fields, "own", kMaxWindows));
  for (const Json& entry : *list) {
    if (!entry.is_array() || entry.size() != 3 || !entry[2].is_array() || entry[2].size() > kMaxWindows)
      return fields.error("own", "should hold lists of a job, a window and a list of prices");
    SMARTMIG_TRY(const std::int64_t job, fields.integer_in(entry[0], "own", 0, 1'000'000'000));
    SMARTMIG_TRY(const std::int64_t window, fields.integer_in(entry[1], "own", 0, std::int64_t(kMaxWindows)));
    own.spans.push_back({std::uint32_t(job), std::uint32_t(window), std::uint32_t(entry[2].size()), own.values.size()});
    for (const Json& price : entry[2]) {
      if (!price.is_number() || !(price.get<double>() >= 0 && price.get<double>() <= 1e15))
        return fields.error("own", "should hold prices: numbers, at least 0 and finite");
      own.values.push_back(price.get<double>());
    }
  }
  return own;
}

Result<std::vector<EndPrice>> parse_end_prices(const JsonObject& fields, const Json& json) {
  std::vector<EndPrice> ends;
  if (!json.contains("ends")) return ends;
  SMARTMIG_TRY(const Json* list, bounded_list(fields, "ends", kMaxWindows));
  for (const Json& entry : *list) {
    if (!entry.is_array() || entry.size() != 2 || !entry[1].is_number() ||
        !(entry[1].get<double>() >= 0 && entry[1].get<double>() <= 1e15))
      return fields.error("ends", "should hold pairs of a job and a price, at least 0 and finite");
    SMARTMIG_TRY(const std::int64_t job, fields.integer_in(entry[0], "ends", 0, 1'000'000'000));
    ends.push_back({std::uint32_t(job), entry[1].get<double>()});
  }
  return ends;
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
      "{{\"format\": \"smartmig-bound\", \"version\": 2, \"world\": \"{}\", \"objective\": \"{}\", \"a\": {}, \"bound\": {}, \"gpus\": "
      "{}, \"power\": {}, "
      "\"power_models\": {}, \"jobs\": {}, \"workload_hash\": \"{:016x}\", \"workload\": {}, \"share\": {}, "
      "\"classes\": {},\n\"edges_us\": [{}],\n\"prices\": [",
      name_of(c.world), name_of(c.objective), c.a, c.bound, json_text(c.gpus), json_text(c.power),
      list_of(c.power_models), c.jobs, c.workload_hash, json_text(c.workload), c.share, list_of(c.classes),
      fmt::join(c.prices.windows.edges, ","));
  const std::size_t classes = c.classes.size();
  for (std::size_t w = 0; w <= c.prices.windows.count(); ++w) {
    out += w ? ",\n[" : "[";
    for (std::size_t k = 0; k < classes; ++k)
      out += fmt::format("{}{}", k ? "," : "", c.prices.values[w * classes + k]);
    out += "]";
  }
  out += "]";
  const OwnPrices& own = c.prices.own;
  for (std::size_t s = 0; s < own.spans.size(); ++s) {
    const OwnPrices::Span& span = own.spans[s];
    const double* values = own.values.data() + span.at;
    out += fmt::format("{}[{},{},[{}]]", s ? ",\n" : ",\n\"own\": [", span.job, span.first_window,
                       fmt::join(values, values + span.count, ","));
  }
  if (!own.empty()) out += "]";
  for (std::size_t e = 0; e < c.prices.ends.size(); ++e)
    out += fmt::format("{}[{},{}]", e ? "," : ",\n\"ends\": [", c.prices.ends[e].job, c.prices.ends[e].price);
  return out + (c.prices.ends.empty() ? "}\n" : "]}\n");
}

Result<Certificate> parse_certificate(const std::string& name, std::string_view text) {
  auto json = parse_json(name, text);
  if (!json) return invalid("{}; it is cut off or damaged", json.error().what);
  const auto opened = JsonObject::open(*json, name, "");
  if (!opened) return invalid("{} is not a certificate: it should be a JSON object", name);
  const JsonObject& fields = *opened;
  const auto format = fields.any_text("format");
  if (!format || *format != "smartmig-bound")
    return invalid("{} is not a certificate of smartmig bound: its format is not smartmig-bound", name);
  SMARTMIG_TRY(const double version, fields.number("version", 0, 1e9));
  if (version != 1 && version != 2)
    return invalid("{}: version {} is not known, this program reads versions 1 and 2", name, version);
  Certificate c;
  if (version == 2) {
    SMARTMIG_TRY(const std::string world, fields.any_text("world"));
    const auto known = parse_bound_world(world);
    if (!known) return fields.error("world", "should be free or hardware");
    c.world = *known;
  }
  SMARTMIG_TRY(const std::string objective, fields.any_text("objective"));
  const auto parsed = parse_objective(objective);
  if (!parsed) return fields.error("objective", "should be et, energy or tardiness");
  c.objective = *parsed;
  SMARTMIG_TRY(c.a, fields.number("a", 0, 1e9));
  SMARTMIG_TRY(c.bound, fields.number("bound", -1e300, 1e300));
  SMARTMIG_TRY(c.share, fields.number("share", 0, 1));
  SMARTMIG_TRY(c.gpus, fields.any_text("gpus"));
  SMARTMIG_TRY(c.power, fields.any_text("power"));
  SMARTMIG_TRY(c.power_models, texts_in(fields, "power_models"));
  SMARTMIG_TRY(const std::int64_t jobs, fields.integer("jobs", 0, 1'000'000'000'000));
  c.jobs = std::uint64_t(jobs);
  SMARTMIG_TRY(const std::string hash, fields.any_text("workload_hash"));
  if (hash.size() != 16 || hash.find_first_not_of("0123456789abcdef") != hash.npos)
    return fields.error("workload_hash", "should be 16 hexadecimal digits");
  for (const char digit : hash)
    c.workload_hash = c.workload_hash << 4 | std::uint64_t(digit <= '9' ? digit - '0' : digit - 'a' + 10);
  SMARTMIG_TRY(c.workload, fields.any_text("workload"));
  SMARTMIG_TRY(c.classes, texts_in(fields, "classes"));
  if (c.classes.empty()) return fields.error("classes", "should not be empty");
  SMARTMIG_TRY(c.prices, parse_prices(fields, c.classes.size()));
  SMARTMIG_TRY(c.prices.own, parse_own_prices(fields, *json));
  SMARTMIG_TRY(c.prices.ends, parse_end_prices(fields, *json));
  return c;
}

}  // namespace smartmig
