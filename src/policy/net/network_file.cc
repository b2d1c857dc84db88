#include "policy/net/network_file.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

namespace smartmig {
namespace {

using OrderedJson = nlohmann::ordered_json;
constexpr std::string_view kMagic = "SMIGNET1";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kMaxSections = 64;
constexpr std::size_t kMaxControllers = 16, kMaxLayouts = 128, kMaxWidth = 2048, kMaxHidden = 8;

std::uint64_t unsigned_at(std::string_view bytes, std::size_t at, int size) {
  std::uint64_t value = 0;
  for (int i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + std::size_t(i)]);
  return value;
}

OrderedJson json_of(const Controller& c) {
  const NetworkSize& size = c.network.size();
  return {{"gpu", c.gpu},
          {"paper_shapes", c.paper_shapes},
          {"shapes", c.shapes},
          {"initial", c.initial},
          {"features", name_of(c.features)},
          {"inputs", size.inputs},
          {"foresight", size.foresight},
          {"hidden", size.hidden},
          {"top_k", c.top_k},
          {"sampling", name_of(c.sampling)}};
}

Result<Controller> controller_of(const std::string& name, const Json& json, std::size_t number) {
  SMARTMIG_TRY(const JsonObject in, JsonObject::open(json, name, fmt::format("controllers[{}]", number),
                                                     {"gpu", "paper_shapes", "shapes", "initial", "features", "inputs",
                                                      "foresight", "hidden", "top_k", "sampling"}));
  Controller c;
  SMARTMIG_TRY(c.gpu, in.any_text("gpu"));
  SMARTMIG_TRY(c.paper_shapes, in.yes_or_no("paper_shapes", false));
  SMARTMIG_TRY(c.shapes, in.texts("shapes"));
  SMARTMIG_TRY(c.initial, in.texts("initial"));
  if (c.shapes.empty() || c.shapes.size() > kMaxLayouts)
    return invalid("{}: the controller of {} needs 1 to {} shapes", name, c.gpu, kMaxLayouts);
  if (c.initial.empty()) return invalid("{}: the controller of {} has no initial shapes", name, c.gpu);
  SMARTMIG_TRY(const std::string features, in.text("features"));
  SMARTMIG_TRY(c.features, parse_features(features));
  SMARTMIG_TRY(const std::string sampling, in.text("sampling"));
  SMARTMIG_TRY(c.sampling, parse_sampling(sampling));
  SMARTMIG_TRY(const auto inputs, in.integer("inputs", 1, 4096));
  if (inputs != input_count(c.features, c.shapes.size()))
    return invalid("{}: the controller of {} should have {} inputs with features {} and {} shapes", name, c.gpu,
                   input_count(c.features, c.shapes.size()), name_of(c.features), c.shapes.size());
  SMARTMIG_TRY(const auto foresight, in.integer("foresight", 0, 4096));
  SMARTMIG_TRY(const auto top_k, in.integer("top_k", 1, std::int64_t(c.shapes.size())));
  c.top_k = int(top_k);
  NetworkSize size{int(inputs), int(foresight), int(c.shapes.size()), {}};
  SMARTMIG_TRY(const Json* const hidden, in.list("hidden"));
  if (hidden->size() > kMaxHidden)
    return invalid("{}: the controller of {} needs at most {} hidden layers", name, c.gpu, kMaxHidden);
  for (const Json& entry : *hidden) {
    SMARTMIG_TRY(const auto width, in.integer_in(entry, "hidden", 1, std::int64_t(kMaxWidth)));
    size.hidden.push_back(int(width));
  }
  c.network = Network(std::move(size));
  return c;
}

// Reads `key = "text"` from the training's TOML: files of earlier versions have the value only there.
std::string text_in_config(std::string_view config, std::string_view key) {
  for (std::string_view line : split(config, '\n')) {
    if (!line.starts_with(key)) continue;
    line = trim(line.substr(key.size()));
    if (!line.starts_with('=')) continue;
    line = trim(line.substr(1));
    const auto end = line.find('"', 1);
    if (line.starts_with('"') && end != line.npos) return std::string(line.substr(1, end - 1));
  }
  return {};
}

}  // namespace

void append_u32(std::string& bytes, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) bytes.push_back(char(value >> (8 * i) & 0xFF));
}
void append_u64(std::string& bytes, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) bytes.push_back(char(value >> (8 * i) & 0xFF));
}
void append_floats(std::string& bytes, std::span<const float> values) {
  for (const float v : values) append_u32(bytes, std::bit_cast<std::uint32_t>(v));
}
void append_doubles(std::string& bytes, std::span<const double> values) {
  for (const double v : values) append_u64(bytes, std::bit_cast<std::uint64_t>(v));
}

bool SectionReader::u64(std::uint64_t& value) {
  if (rest_.size() < 8) return false;
  value = unsigned_at(rest_, 0, 8);
  rest_.remove_prefix(8);
  return true;
}
bool SectionReader::floats(std::span<float> values) {
  if (rest_.size() / 4 < values.size()) return false;
  for (float& v : values) {
    v = std::bit_cast<float>(std::uint32_t(unsigned_at(rest_, 0, 4)));
    rest_.remove_prefix(4);
    if (!std::isfinite(v)) return false;
  }
  return true;
}
bool SectionReader::doubles(std::span<double> values) {
  if (rest_.size() / 8 < values.size()) return false;
  for (double& v : values) {
    v = std::bit_cast<double>(unsigned_at(rest_, 0, 8));
    rest_.remove_prefix(8);
    if (!std::isfinite(v)) return false;
  }
  return true;
}

std::string to_container(const std::vector<Section>& sections) {
  std::string bytes(kMagic);
  append_u32(bytes, kVersion);
  append_u32(bytes, std::uint32_t(sections.size()));
  for (const Section& section : sections) {
    SMARTMIG_CHECK(section.tag.size() == 4, "a section's tag has four characters, not '{}'", section.tag);
    bytes += section.tag;
    append_u64(bytes, section.bytes.size());
    bytes += section.bytes;
  }
  append_u64(bytes, hash_text(bytes));
  return bytes;
}

Result<std::vector<Section>> parse_container(const std::string& name, std::string_view bytes) {
  constexpr std::size_t kHead = 16;
  if (!bytes.starts_with(kMagic))
    return invalid("{} is not a smartmig policy or checkpoint: it does not begin with {}", name, kMagic);
  if (bytes.size() < kHead + 8) return invalid("{} is cut off: {} bytes", name, bytes.size());
  if (const auto version = unsigned_at(bytes, 8, 4); version != kVersion)
    return invalid("{} has format version {}; this program reads version {}", name, version, kVersion);
  if (unsigned_at(bytes, bytes.size() - 8, 8) != hash_text(bytes.substr(0, bytes.size() - 8)))
    return invalid("{} is damaged or cut off: its checksum does not match; use another copy", name);
  const std::uint64_t count = unsigned_at(bytes, 12, 4);
  if (count > kMaxSections) return invalid("{}: {} sections, at most {} are allowed", name, count, kMaxSections);
  std::vector<Section> sections;
  std::size_t at = kHead;
  const std::size_t end = bytes.size() - 8;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (end - at < 12) return invalid("{}: section {} of {} is missing", name, i + 1, count);
    const std::uint64_t length = unsigned_at(bytes, at + 4, 8);
    if (length > end - at - 12) return invalid("{}: section {} is longer than the file", name, i + 1);
    sections.push_back({std::string(bytes.substr(at, 4)), std::string(bytes.substr(at + 12, length))});
    at += 12 + length;
  }
  if (at != end) return invalid("{}: {} bytes after the last section", name, end - at);
  return sections;
}

const Section* find_section(const std::vector<Section>& sections, std::string_view tag) {
  for (const Section& section : sections)
    if (section.tag == tag) return &section;
  return nullptr;
}

Result<Sampling> parse_sampling(std::string_view name) {
  if (name == "sample") return Sampling::kSample;
  if (name == "quota") return Sampling::kQuota;
  if (name == "greedy") return Sampling::kGreedy;
  return invalid("sampling must be sample, quota or greedy, not '{}'", name);
}
const char* name_of(Sampling sampling) {
  return sampling == Sampling::kSample ? "sample" : (sampling == Sampling::kQuota ? "quota" : "greedy");
}

const Controller* PolicyFile::for_model(const GpuModel& model) const {
  for (const Controller& c : controllers)
    if (c.gpu == model.name()) return &c;
  if (smartmig::paper_shapes(model).empty()) return nullptr;
  for (const Controller& c : controllers)
    if (c.paper_shapes) return &c;
  return nullptr;
}

std::vector<Section> policy_sections(const PolicyFile& file) {
  OrderedJson head = {{"smartmig_policy", 1}, {"source", "smartmig train"}, {"note", file.note}};
  head["seeds"] = {file.first_seed, file.last_seed};
  head["controllers"] = OrderedJson::array();
  std::string numbers;
  for (const Controller& c : file.controllers) {
    head["controllers"].push_back(json_of(c));
    append_floats(numbers, c.network.parameters());
    append_floats(numbers, c.network.mean());
    append_floats(numbers, c.network.scale());
  }
  if (!file.cost.empty()) head["cost"] = file.cost;
  if (!file.placer.empty()) head["placer"] = file.placer;
  head["config"] = file.config;
  return {{"head", json_dump(head, 1)}, {"netw", std::move(numbers)}};
}

Result<PolicyFile> policy_from_sections(const std::string& name, const std::vector<Section>& sections) {
  const Section *head = find_section(sections, "head"), *numbers = find_section(sections, "netw");
  if (!head || !numbers)
    return invalid("{} contains no policy: the section {} is missing", name, head ? "netw" : "head");
  const std::string part = name + ", its head";
  SMARTMIG_TRY(const Json json, parse_json(part, head->bytes));
  SMARTMIG_TRY(const JsonObject root, JsonObject::open(json, part, "",
                                                       {"smartmig_policy", "source", "note", "seeds", "controllers",
                                                        "cost", "placer", "config"}));
  SMARTMIG_TRY(const Json* const list, root.list("controllers"));
  if (list->empty() || list->size() > kMaxControllers)
    return invalid("{}: 1 to {} controllers are expected", name, kMaxControllers);
  PolicyFile file;
  SectionReader reader(numbers->bytes);
  std::size_t total = 0;
  for (const Json& item : *list) {
    SMARTMIG_TRY(Controller controller, controller_of(name, item, file.controllers.size()));
    Network& network = controller.network;
    total += network.parameters().size();
    if (total > numbers->bytes.size()) return invalid("{}: its networks are larger than the file", name);
    if (!reader.floats(network.parameters()) || !reader.floats(network.mean()) || !reader.floats(network.scale()))
      return invalid("{}: the network of {} is truncated or contains a number that is not finite", name,
                     controller.gpu);
    file.controllers.push_back(std::move(controller));
  }
  if (!reader.done()) return invalid("{}: numbers after the last network", name);
  if (root.has("seeds")) {
    SMARTMIG_TRY(const auto seeds, root.counts("seeds"));
    if (seeds.size() != 2) return root.error("seeds", "must be the first and the last of a range");
    file.first_seed = seeds[0];
    file.last_seed = seeds[1];
    if (file.last_seed < file.first_seed || file.last_seed - file.first_seed > 1'000'000)
      return invalid("{}: its training seeds {}-{} make no sense", name, file.first_seed, file.last_seed);
  }
  if (root.has("note")) {
    SMARTMIG_TRY(file.note, root.any_text("note"));
  }
  if (root.has("config")) {
    SMARTMIG_TRY(file.config, root.any_text("config"));
  }
  file.cost = text_in_config(file.config, "cost");
  file.placer = text_in_config(file.config, "placer");
  if (root.has("cost")) {
    SMARTMIG_TRY(file.cost, root.text("cost"));
  }
  if (root.has("placer")) {
    SMARTMIG_TRY(file.placer, root.text("placer"));
  }
  return file;
}

std::string to_bytes(const PolicyFile& file) { return to_container(policy_sections(file)); }

Result<PolicyFile> parse_policy_file(const std::string& name, std::string_view bytes) {
  SMARTMIG_TRY(const auto sections, parse_container(name, bytes));
  return policy_from_sections(name, sections);
}

Result<PolicyFile> load_policy_file(const std::string& path) {
  SMARTMIG_TRY(const std::string bytes, read_file(path));
  return parse_policy_file(path, bytes);
}

}  // namespace smartmig
