#include "policy/layout_file.h"

#include <nlohmann/json.hpp>

namespace smartmig {

using OrderedJson = nlohmann::ordered_json;

Result<LayoutFile> parse_layout_file(const std::string& name, std::string_view text) {
  const OrderedJson json = OrderedJson::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object())
    return invalid("{} is not a layouts file: it is not a JSON object", name);
  const auto version = json.find("smartmig_layouts");
  if (version == json.end() || !version->is_number_integer())
    return invalid("{} is not a layouts file: it has no smartmig_layouts version", name);
  if (*version != 1)
    return invalid("{}: layouts version {} is newer than this program reads (1)", name, version->dump());

  LayoutFile file;
  const auto text_of = [&](const char* key, std::string& to) -> Result<Ok> {
    const auto at = json.find(key);
    if (at == json.end() || !at->is_string()) return invalid("{}: '{}' must be a text", name, key);
    to = at->get<std::string>();
    return Ok{};
  };
  const auto list_of = [&](const char* key, std::vector<std::string>& to) -> Result<Ok> {
    const auto at = json.find(key);
    if (at == json.end() || !at->is_array() || at->empty())
      return invalid("{}: '{}' must be a list of shapes", name, key);
    for (const OrderedJson& item : *at) {
      if (!item.is_string()) return invalid("{}: '{}' must hold texts such as \"4g+2g+1g\"", name, key);
      to.push_back(item.get<std::string>());
    }
    return Ok{};
  };
  const auto hour_of = [&](const char* key, int& to) -> Result<Ok> {
    const auto at = json.find(key);
    if (at == json.end() || !at->is_number_integer() || at->get<std::int64_t>() < 0 || at->get<std::int64_t>() > 23)
      return invalid("{}: '{}' must be an hour, 0 to 23", name, key);
    to = at->get<int>();
    return Ok{};
  };
  std::string kind;
  SMARTMIG_RETURN_IF_ERROR(text_of("kind", kind));
  if (kind != "static" && kind != "twice") return invalid("{}: kind '{}' is not static or twice", name, kind);
  file.twice = kind == "twice";
  SMARTMIG_RETURN_IF_ERROR(text_of("gpus", file.gpus));
  SMARTMIG_RETURN_IF_ERROR(text_of("placer", file.placer));
  SMARTMIG_RETURN_IF_ERROR(text_of("workload", file.workload));
  SMARTMIG_RETURN_IF_ERROR(list_of("day", file.day));
  if (file.twice) {
    SMARTMIG_RETURN_IF_ERROR(list_of("night", file.night));
    SMARTMIG_RETURN_IF_ERROR(hour_of("day_begin", file.day_begin));
    SMARTMIG_RETURN_IF_ERROR(hour_of("night_begin", file.night_begin));
    if (file.night.size() != file.day.size())
      return invalid("{}: {} day shapes and {} night shapes", name, file.day.size(), file.night.size());
  }
  const auto seeds = json.find("seeds");
  if (seeds == json.end() || !seeds->is_array())
    return invalid("{}: 'seeds' must list the seeds it was searched on", name);
  for (const OrderedJson& seed : *seeds) {
    if (!seed.is_number_unsigned()) return invalid("{}: 'seeds' must hold whole numbers", name);
    file.seeds.push_back(seed.get<std::uint64_t>());
  }
  for (const auto& [key, to] : {std::pair{"a", &file.a}, std::pair{"et", &file.et}})
    if (const auto at = json.find(key); at != json.end() && at->is_number()) *to = at->get<double>();
  return file;
}

std::string to_json(const LayoutFile& file) {
  OrderedJson json;
  json["smartmig_layouts"] = 1;
  json["source"] = "smartmig search";
  json["kind"] = file.twice ? "twice" : "static";
  json["gpus"] = file.gpus;
  json["placer"] = file.placer;
  json["day"] = file.day;
  if (file.twice) {
    json["night"] = file.night;
    json["day_begin"] = file.day_begin;
    json["night_begin"] = file.night_begin;
  }
  json["workload"] = file.workload;
  json["a"] = file.a;
  json["et"] = file.et;
  json["seeds"] = file.seeds;
  return json.dump(1) + "\n";
}

}  // namespace smartmig
