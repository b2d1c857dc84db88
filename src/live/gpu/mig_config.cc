#include "live/gpu/mig_config.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "live/gpu/division.h"
#include "live/gpu/driver.h"

namespace smartmig {
namespace {

// "0x20B010DE", "548409566": 32 bits.
std::optional<std::uint32_t> packed_id(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  std::uint32_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Result<DeviceFilter> DeviceFilter::parse(std::string_view text) {
  DeviceFilter filter;
  const auto parts = split(text, ':');
  const auto device = packed_id(parts[0]);
  const auto subsystem = parts.size() == 2 ? packed_id(parts[1]) : std::nullopt;
  if (parts.size() > 2 || !device || (parts.size() == 2 && !subsystem))
    return invalid("'device-filter' takes PCI ids such as 0x20B010DE or 0x20B010DE:0x144E10DE, not '{}'", text);
  filter.device = *device;
  filter.subsystem = subsystem;
  return filter;
}

bool DeviceFilter::matches(const GpuBoard& board) const {
  return packed_id(board.pci_id) == device && (!subsystem || packed_id(board.pci_subsystem) == subsystem);
}

namespace {

constexpr std::size_t kMostConfigBytes = 1 << 20;
constexpr std::size_t kMostEntries = 100'000;  // aliases can make a small file large
constexpr int kMostMerges = 64;                // of one map: an alias may stand for a map that holds itself

struct ConfigReader {
  std::string file;

  Error error(const YAML::Node& node, std::string_view what) const {
    const int line = node.IsDefined() ? node.Mark().line : -1;
    return line >= 0 ? invalid("{} line {}: {}", file, line + 1, what) : invalid("{}: {}", file, what);
  }

  Result<std::string> text(const YAML::Node& node, std::string_view key) const {
    if (!node.IsScalar()) return error(node, fmt::format("'{}' must be one word", key));
    for (char c : node.Scalar())
      if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F)
        return error(node, fmt::format("'{}' contains a byte that is not printable ASCII", key));
    return node.Scalar();
  }

  Result<int> whole(const YAML::Node& node, std::string_view key, int most) const {
    SMARTMIG_TRY(const std::string word, text(node, key));
    const auto value = parse_int(word);
    if (!value || *value < 0 || *value > most)
      return error(node, fmt::format("'{}' must be a whole number from 0 to {}, not '{}'", key, most, word));
    return int(*value);
  }

  using Fields = std::vector<std::pair<std::string, YAML::Node>>;

  // The keys of a map, each once. Those of maps named by "<<" (one, or a list) count where the map itself, or an
  // earlier one of the list, does not have them.
  Result<Fields> fields(const YAML::Node& node, std::string_view what) const {
    Fields list;
    std::set<std::string> seen;
    int merges = 0;
    SMARTMIG_RETURN_IF_ERROR(gather(node, what, list, seen, merges));
    return list;
  }

  Result<Ok> gather(const YAML::Node& node, std::string_view what, Fields& list, std::set<std::string>& seen,
                    int& merges) const {
    if (!node.IsMap()) return error(node, fmt::format("{} must be a map", what));
    if (merges++ > kMostMerges) return error(node, fmt::format("{} merges more than {} maps", what, kMostMerges));
    std::vector<YAML::Node> merged;
    std::set<std::string> own;
    for (const auto& field : node) {
      SMARTMIG_TRY(std::string key, text(field.first, what));
      if (!own.insert(key).second) return error(field.first, fmt::format("'{}' is given twice", key));
      if (key == "<<" && !quoted(field.first))
        merged.push_back(field.second);
      else if (seen.insert(key).second)
        list.emplace_back(std::move(key), field.second);
    }
    for (const YAML::Node& one : merged) {
      if (!one.IsSequence()) {
        SMARTMIG_RETURN_IF_ERROR(gather(one, "what << names", list, seen, merges));
        continue;
      }
      for (const auto& item : one) SMARTMIG_RETURN_IF_ERROR(gather(item, "what << names", list, seen, merges));
    }
    return Ok{};
  }

  static bool quoted(const YAML::Node& node) { return node.Tag() == "!"; }

  // As YAML 1.1 has it, which mig-parted reads.
  Result<bool> boolean(const YAML::Node& node, std::string_view key) const {
    SMARTMIG_TRY(const std::string word, text(node, key));
    static constexpr std::pair<const char*, bool> kWords[] = {{"true", true}, {"yes", true},    {"on", true},
                                                              {"y", true},    {"false", false}, {"no", false},
                                                              {"off", false}, {"n", false}};
    for (const auto& [name, value] : kWords) {
      std::string capital = name, capitals = name;
      capital[0] = char(capital[0] - 'a' + 'A');
      for (char& c : capitals) c = char(c - 'a' + 'A');
      if (!quoted(node) && (word == name || word == capital || word == capitals)) return value;
    }
    return error(node, fmt::format("'{}' must be true or false, not '{}'{}", key, word,
                                   quoted(node) ? " in quotes, which is a word" : ""));
  }

  Result<std::vector<std::string>> words(const YAML::Node& node, std::string_view key) const {
    std::vector<std::string> list;
    if (node.IsScalar()) {
      SMARTMIG_TRY(std::string word, text(node, key));
      list.push_back(std::move(word));
      return list;
    }
    if (!node.IsSequence()) return error(node, fmt::format("'{}' must be a word or a list of words", key));
    for (const auto& item : node) {
      SMARTMIG_TRY(std::string word, text(item, key));
      list.push_back(std::move(word));
    }
    return list;
  }

  Result<Ok> devices(const YAML::Node& node, MigConfigEntry& entry) const {
    if (node.IsScalar() && node.Scalar() == "all") return Ok{};
    entry.all_devices = false;
    if (node.IsScalar()) {
      SMARTMIG_TRY(const int index, whole(node, "devices", 4095));
      entry.devices.push_back(index);
      return Ok{};
    }
    if (!node.IsSequence()) return error(node, "'devices' must be all, an index or a list of indices");
    for (const auto& item : node) {
      SMARTMIG_TRY(const int index, whole(item, "devices", 4095));
      entry.devices.push_back(index);
    }
    std::sort(entry.devices.begin(), entry.devices.end());
    if (std::adjacent_find(entry.devices.begin(), entry.devices.end()) != entry.devices.end())
      return error(node, "'devices' names an index twice");
    return Ok{};
  }

  Result<MigConfigEntry> entry(const YAML::Node& node) const {
    MigConfigEntry entry;
    entry.line = node.Mark().line + 1;
    bool has_devices = false, has_enabled = false, has_counts = false;
    SMARTMIG_TRY(const auto list, fields(node, "an entry of a configuration"));
    for (const auto& [key, value] : list) {
      if (key == "devices") {
        has_devices = true;
        SMARTMIG_RETURN_IF_ERROR(devices(value, entry));
      } else if (key == "device-filter") {
        SMARTMIG_TRY(entry.filter, words(value, key));
        if (value.IsScalar() && value.Scalar().empty()) entry.filter.clear();
        for (const std::string& id : entry.filter)
          if (const auto filter = DeviceFilter::parse(id); !filter) return error(value, filter.error().what);
      } else if (key == "mig-enabled") {
        has_enabled = true;
        SMARTMIG_TRY(entry.mig_enabled, boolean(value, key));
      } else if (key == "mig-devices") {
        if (value.IsNull()) continue;
        has_counts = true;
        SMARTMIG_TRY(const auto counts, fields(value, "'mig-devices'"));
        for (const auto& [profile, count] : counts) {
          SMARTMIG_TRY(const int n, whole(count, profile, 15));
          if (n > 0) entry.mig_devices.emplace_back(profile, n);
        }
        if (!counts.empty() && entry.mig_devices.empty())
          return error(value, "every count of 'mig-devices' is 0; write {} for no instance at all");
      } else if (key == "mig-placements") {
        SMARTMIG_TRY(entry.placements, words(value, key));
      } else {
        const std::string near =
            nearest(key, {"devices", "device-filter", "mig-enabled", "mig-devices", "mig-placements"});
        return error(value, fmt::format("unknown key '{}'{}", key, near.empty() ? "" : ", did you mean " + near + "?"));
      }
    }
    if (!has_devices) return error(node, "'devices' is missing; write all or a list of indices");
    if (!has_enabled) return error(node, "'mig-enabled' is missing; write true or false");
    if (entry.mig_enabled && !has_counts && entry.placements.empty())
      return error(node, "'mig-devices' is missing although 'mig-enabled' is true; write {} for no instance at all");
    if (!entry.mig_enabled && (!entry.mig_devices.empty() || !entry.placements.empty()))
      return error(node, "instances are requested although 'mig-enabled' is false");
    return entry;
  }

  Result<MigConfigFile> document(const YAML::Node& root) const {
    MigConfigFile result;
    bool has_version = false, has_configs = false;
    std::size_t entries = 0;
    SMARTMIG_TRY(const auto top, fields(root, "the file"));
    for (const auto& [key, value] : top) {
      if (key == "version") {
        SMARTMIG_TRY(const std::string version, text(value, key));
        if (version != "v1") return error(value, fmt::format("version must be v1, not '{}'", version));
        has_version = true;
      } else if (key == "mig-configs") {
        has_configs = true;
        SMARTMIG_TRY(const auto labels, fields(value, "'mig-configs'"));
        for (const auto& [label, list] : labels) {
          if (!list.IsSequence() || list.size() == 0)
            return error(list, fmt::format("configuration '{}' must be a list of entries", label));
          MigConfig config{label, {}};
          for (const auto& item : list) {
            if (++entries > kMostEntries) return error(item, "more than 100000 entries");
            SMARTMIG_TRY(MigConfigEntry one, entry(item));
            config.entries.push_back(std::move(one));
          }
          result.configs.push_back(std::move(config));
        }
      } else {
        return error(value, fmt::format("unknown key '{}'; the keys are version and mig-configs", key));
      }
    }
    if (!has_version) return invalid("{}: 'version: v1' is missing", file);
    if (!has_configs || result.configs.empty()) return invalid("{}: 'mig-configs' is missing or empty", file);
    return result;
  }
};

}  // namespace

const MigConfig* MigConfigFile::find(std::string_view label) const {
  for (const MigConfig& config : configs)
    if (config.label == label) return &config;
  return nullptr;
}

Result<MigConfigFile> parse_mig_config(const std::string& name, std::string_view text) {
  if (text.size() > kMostConfigBytes) return invalid("{}: larger than 1 MiB, which no configuration is", name);
  try {
    return ConfigReader{name}.document(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& e) {
    return invalid("{} line {}: {}", name, e.mark.line + 1, e.msg);
  }
}

Result<MigConfigFile> read_mig_config(const std::string& path) {
  if (path != "-") {
    SMARTMIG_TRY(const std::string text, read_file(path));
    return parse_mig_config(path, text);
  }
  SMARTMIG_TRY(LineReader lines, LineReader::open("-"));
  std::string text;
  for (;;) {
    SMARTMIG_TRY(const auto line, lines.next());
    if (!line) break;
    text.append(*line).push_back('\n');
  }
  return parse_mig_config("standard input", text);
}

MigConfig exported(const std::vector<GpuBoard>& boards, std::string label, bool placements) {
  MigConfig config{std::move(label), {}};
  for (const GpuBoard& board : boards) {
    MigConfigEntry entry;
    entry.mig_enabled = board.mode == MigMode::kOn;
    if (entry.mig_enabled && board.model) {
      PartCounts counts = part_counts(board);
      for (std::size_t i = 0; i < board.model->profiles().size(); ++i)
        for (int slices = board.model->profiles()[i].compute_slices; slices > 0; --slices)
          if (const auto at = counts.find(part_name(*board.model, int(i), slices)); at != counts.end())
            entry.mig_devices.emplace_back(at->first, at->second);
      if (placements)
        for (const Instance& i : board.instances)
          if (board.layout.contains(i.placement)) entry.placements.push_back(slice_name(*board.model, i.placement));
    }
    const auto same = std::find_if(config.entries.begin(), config.entries.end(), [&](const MigConfigEntry& e) {
      return e.mig_enabled == entry.mig_enabled && e.mig_devices == entry.mig_devices &&
             e.placements == entry.placements;
    });
    MigConfigEntry& target = same == config.entries.end() ? config.entries.emplace_back(std::move(entry)) : *same;
    target.all_devices = false;
    target.devices.push_back(board.index);
  }
  if (config.entries.size() == 1) {
    config.entries[0].all_devices = true;
    config.entries[0].devices.clear();
  }
  return config;
}

MigConfigFile generated(const std::vector<GpuBoard>& boards) {
  std::vector<const GpuModel*> models;
  for (const GpuBoard& board : boards)
    if (board.model &&
        std::none_of(models.begin(), models.end(), [&](auto* m) { return m->name() == board.model->name(); }))
      models.push_back(board.model.get());
  MigConfigFile file;
  MigConfigEntry off, on;
  on.mig_enabled = true;
  file.configs.push_back({"all-disabled", {off}});
  file.configs.push_back({"all-enabled", {on}});
  const auto add = [&](const std::string& label, const GpuModel& model,
                       std::vector<std::pair<std::string, int>> counts) {
    MigConfigEntry entry;
    entry.mig_enabled = true;
    entry.mig_devices = std::move(counts);
    if (models.size() > 1) entry.filter = model.spec().pci_ids;
    const auto at =
        std::find_if(file.configs.begin(), file.configs.end(), [&](const MigConfig& c) { return c.label == label; });
    (at == file.configs.end() ? file.configs.emplace_back(MigConfig{label, {}}) : *at)
        .entries.push_back(std::move(entry));
  };
  for (const GpuModel* model : models)
    for (const Profile& p : model->profiles()) {
      std::string label = "all-" + p.name;
      std::replace(label.begin(), label.end(), '+', '.');
      add(label, *model, {{p.name, p.max_instances}});
    }
  for (const GpuModel* model : models) {
    std::vector<std::pair<std::string, int>> counts;
    for (const auto& [size, count] : {std::pair("1g", 2), std::pair("2g", 1), std::pair("3g", 1)})
      if (const int i = model->find_profile(size); i >= 0)
        counts.emplace_back(model->profiles()[std::size_t(i)].name, count);
    add("all-balanced", *model, std::move(counts));
  }
  return file;
}

}  // namespace smartmig
