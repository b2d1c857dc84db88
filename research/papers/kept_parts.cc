#include "research/papers/kept_parts.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "base/file.h"
#include "base/rng.h"

namespace smartmig {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = text.size();
  for (const char c : text) hash = mix64(hash, std::uint64_t(static_cast<unsigned char>(c)));
  return hash;
}

OrderedJson number_json(double value) { return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr); }
double number_of(const OrderedJson& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

OrderedJson section_json(const PaperSection& s) {
  OrderedJson claims = OrderedJson::array();
  for (const PaperClaim& c : s.claims)
    claims.push_back({{"what", c.what},
                      {"printed", number_json(c.printed)},
                      {"measured", number_json(c.measured)},
                      {"within", number_json(c.within)},
                      {"sense", int(c.sense)},
                      {"reading", c.reading}});
  return {{"name", s.name},   {"title", s.title}, {"note", s.note}, {"header", s.header},
          {"rows", s.rows},   {"json", s.json},   {"svg", s.svg},   {"below", s.below},
          {"claims", claims}, {"why", s.why},     {"ours", s.ours}};
}

PaperSection kept_section(const OrderedJson& json) {
  PaperSection s;
  s.name = json.at("name");
  s.title = json.at("title");
  s.note = json.at("note");
  s.header = json.at("header").get<std::vector<std::string>>();
  s.rows = json.at("rows").get<std::vector<std::vector<std::string>>>();
  s.json = json.at("json");
  s.svg = json.at("svg");
  s.below = json.at("below");
  s.why = json.at("why");
  s.ours = json.at("ours");
  for (const OrderedJson& c : json.at("claims"))
    s.claims.push_back({c.at("what"), number_of(c.at("printed")), number_of(c.at("measured")),
                        number_of(c.at("within")), PaperClaim::Sense(c.at("sense").get<int>()), c.at("reading")});
  return s;
}

}  // namespace

std::string KeptParts::path_of(const PaperPart& part) const {
  const std::string key = fmt::format("{} {} {}", part.name, part.settings.dump(), program_);
  return fmt::format("{}/{}-{:016x}.json", directory_, part.name, hash_of(key));
}

std::optional<std::vector<PaperSection>> KeptParts::find(const PaperPart& part) const {
  if (directory_.empty()) return std::nullopt;
  const auto text = read_file(path_of(part));
  if (!text) return std::nullopt;
  try {
    const OrderedJson json = OrderedJson::parse(*text);
    if (json.at("settings") != part.settings) return std::nullopt;
    std::vector<PaperSection> sections;
    for (const OrderedJson& section : json.at("sections")) sections.push_back(kept_section(section));
    return sections;
  } catch (const OrderedJson::exception&) {
    return std::nullopt;
  }
}

Result<Ok> KeptParts::keep(const PaperPart& part, const std::vector<PaperSection>& sections) const {
  if (directory_.empty()) return Ok{};
  std::error_code failed;
  std::filesystem::create_directories(directory_, failed);
  if (failed) return io_error("cannot create the directory {} for results: {}", directory_, failed.message());
  OrderedJson all = OrderedJson::array();
  for (const PaperSection& section : sections) all.push_back(section_json(section));
  return write_file(path_of(part),
                    OrderedJson{{"part", part.name}, {"settings", part.settings}, {"sections", all}}.dump(1) + "\n");
}

}  // namespace smartmig
