#include "queue/config/settings_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>

// The library asserts where some malformed files should be an error ("[>]"): here that is one.
namespace {
constexpr void toml_require(bool good) {
  if (!good) throw std::logic_error("malformed");
}
}  // namespace
#define TOML_ASSERT(condition) toml_require(bool(condition))
#include <toml++/toml.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

namespace smartmig {
namespace {

// The library's scanner has undefined behaviour for some letters outside quotes, so it is given ASCII only: each other
// byte as a mark and two digits, taken back in what it read. The mark is a hash of the text, which the text does not
// hold.
class AsciiText {
 public:
  explicit AsciiText(std::string_view text) : mark_(fmt::format("x{:016x}", hash_text(text, 0x746F6D6C))) {
    for (const char c : text)
      if (static_cast<unsigned char>(c) < 0x80)
        ascii_ += c;
      else
        ascii_ += fmt::format("{}{:02x}", mark_, static_cast<unsigned char>(c));
  }
  const std::string& ascii() const { return ascii_; }
  std::string back(std::string_view text) const {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const auto next = std::min(text.find(mark_, at), text.size());
      out += text.substr(at, next - at);
      at = next;
      unsigned byte = 0;
      const std::string_view digits = text.substr(std::min(at + mark_.size(), text.size())).substr(0, 2);
      if (at < text.size() &&
          std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16).ec == std::errc()) {
        out += char(byte);
        at += mark_.size() + digits.size();
      } else if (at < text.size()) {
        out += text[at++];
      }
    }
    return out;
  }

 private:
  std::string mark_, ascii_;
};

// toml++ says of a string without its closing quote that the line break in it is a control character, and of one
// without its opening quote that its type is not clear.
std::string syntax_words(std::string_view text, std::size_t line, const std::string& description) {
  const auto lines = split(text, '\n');
  if (description.find("could not determine value type") != std::string::npos)
    return "the value is no number, true, false or list: a string needs a quote before and after it";
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 32 && c != '\t' && c != '\r'; };
  if (description.find("control character") == std::string::npos || line == 0 || line > lines.size() ||
      std::any_of(lines[line - 1].begin(), lines[line - 1].end(), is_control))
    return description;
  return "a string has no closing quote";
}

// The line that is not UTF-8; 0: all of it is.
int line_outside_utf8(std::string_view text) {
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (valid_utf8(line) != line) return number;
  }
  return 0;
}

ConfigValue config_value(const toml::node& node, const AsciiText& source) {
  ConfigValue out;
  if (const auto* text = node.as_string()) {
    out.kind = ConfigValue::kText;
    out.text = source.back(text->get());
  } else if (const auto* whole = node.as_integer()) {
    out.kind = ConfigValue::kWhole;
    out.whole = whole->get();
  } else if (const auto* number = node.as_floating_point()) {
    out.kind = ConfigValue::kNumber;
    out.number = number->get();
  } else if (const auto* yes = node.as_boolean()) {
    out.kind = ConfigValue::kBool;
    out.yes = yes->get();
  } else if (const auto* list = node.as_array()) {
    out.kind = ConfigValue::kTexts;
    for (const toml::node& one : *list) {
      if (!one.is_string()) out.kind = ConfigValue::kOther;
      out.texts.push_back(one.is_string() ? source.back(one.as_string()->get()) : "");
    }
  }
  return out;
}

constexpr std::string_view kScopes[] = {"user", "group", "project"};  // by QuotaScope

constexpr std::pair<std::string_view, std::string_view> kRemoved[] = {
    {"seed", "policies always use seed 1"},
    {"prelaunch.mem", "prelaunched jobs get a quarter of host.mem"},
    {"prelaunch.cpus", "prelaunched jobs get a quarter of host.cpus"},
};

class Reading {
 public:
  Reading(const std::string& name, const AsciiText& source, Settings& settings)
      : name_(name), source_(source), settings_(settings), fields_(setting_fields(settings)) {}

  Result<Ok> table(const toml::table& table, const std::string& prefix) {
    for (const auto& [key, node] : table) {
      const std::string own = source_.back(key.str()), path = prefix.empty() ? own : fmt::format("{}.{}", prefix, own);
      const auto line = key.source().begin.line;
      if (const toml::table* inner = node.as_table()) {
        if (path == "priorities") {
          SMARTMIG_RETURN_IF_ERROR(priorities(*inner));
        } else if (path == "quota") {
          SMARTMIG_RETURN_IF_ERROR(quotas(*inner));
        } else if (std::none_of(fields_.begin(), fields_.end(),
                                [&](const SettingField& field) { return field.key.starts_with(path + "."); })) {
          return unknown(path, line, "table");
        } else {
          SMARTMIG_RETURN_IF_ERROR(this->table(*inner, path));
        }
        continue;
      }
      const auto field = std::find_if(fields_.begin(), fields_.end(), [&](const auto& one) { return one.key == path; });
      if (path == "quota")
        return invalid("{} line {}: quota is a table: [quota.group.vision] gpu_hours = 40", name_, line);
      if (path == "priorities")
        return invalid("{} line {}: priorities is a table: [priorities] anna = 10", name_, line);
      if (field == fields_.end()) return unknown(path, line, "setting");
      if (auto set = field->set(config_value(node, source_)); !set)
        return invalid("{} line {}: {} {}", name_, line, path, set.error().what);
    }
    return Ok{};
  }

 private:
  Result<Ok> priorities(const toml::table& table) {
    for (const auto& [user, node] : table) {
      const auto* number = node.as_integer();
      if (!number || std::abs(double(number->get())) > 1e6)
        return invalid("{} line {}: priorities.{} must be a whole number from -1000000 to 1000000", name_,
                       user.source().begin.line, source_.back(user.str()));
      settings_.limits.priorities[source_.back(user.str())] = int(number->get());
    }
    return Ok{};
  }

  Result<Ok> quotas(const toml::table& table) {
    for (const auto& [key, node] : table) {
      const std::string own = source_.back(key.str());
      const auto line = key.source().begin.line;
      if (own == "beyond") {
        const auto* text = node.as_string();
        if (!text || (text->get() != "wait" && text->get() != "refuse"))
          return invalid("{} line {}: quota.beyond must be \"wait\" or \"refuse\"", name_, line);
        settings_.quota.refuse = text->get() == "refuse";
        continue;
      }
      const auto scope = std::find(std::begin(kScopes), std::end(kScopes), own);
      const toml::table* names = node.as_table();
      if (scope == std::end(kScopes) || !names)
        return invalid(
            "{} line {}: quota.{} is not known: write [quota.user.NAME], [quota.group.NAME], "
            "[quota.project.NAME] or quota.beyond",
            name_, line, own);
      for (const auto& [name, of] : *names) {
        const toml::table* limits = of.as_table();
        const std::string whose = source_.back(name.str());
        if (!limits)
          return invalid("{} line {}: quota.{}.{} is a table: [quota.{}.{}] gpu_hours = 40", name_,
                         name.source().begin.line, own, whose, own, whose);
        SMARTMIG_TRY(settings_.quota.limits[QuotaName(QuotaScope(scope - std::begin(kScopes)), whose)],
                     quota(fmt::format("quota.{}.{}", own, whose), *limits));
      }
    }
    return Ok{};
  }

  Result<Quota> quota(const std::string& path, const toml::table& table) {
    Quota out;
    for (const auto& [key, node] : table) {
      const std::string own = source_.back(key.str());
      const auto line = key.source().begin.line;
      const std::optional<double> value = node.is_number() ? node.value<double>() : std::nullopt;
      if (own != "slices" && own != "gpu_hours" && own != "energy_kwh")
        return invalid("{} line {}: '{}.{}' is not a setting; a quota has slices, gpu_hours and energy_kwh", name_,
                       line, path, own);
      if (!value || !(*value >= 0 && *value <= 1e9) || (own == "slices" && *value != std::floor(*value)))
        return invalid("{} line {}: {}.{} must be a {}number from 0 to 1000000000", name_, line, path, own,
                       own == "slices" ? "whole " : "");
      if (own == "slices")
        out.slices = int(*value);
      else
        (own == "gpu_hours" ? out.gpu_hours : out.energy_kwh) = *value;
    }
    return out;
  }

  Error unknown(const std::string& path, unsigned line, const char* what) const {
    for (const auto& [key, instead] : kRemoved)
      if (path == key) return invalid("{} line {}: {} was removed: {}; delete the line", name_, line, key, instead);
    std::vector<std::string> keys;
    for (const SettingField& field : fields_)
      keys.push_back(*what == 't' ? field.key.substr(0, field.key.find('.')) : field.key);
    std::string near = nearest(path, keys);
    if (near.empty())  // a right name in the wrong table
      for (const std::string& key : keys)
        if (path.substr(path.rfind('.') + 1) == key.substr(key.rfind('.') + 1)) near = key;
    return invalid("{} line {}: '{}' is not a {}{}; smartmig serve --gen-config lists all settings", name_, line, path,
                   what, near.empty() ? "" : ", did you mean " + near + "?");
  }

  const std::string& name_;
  const AsciiText& source_;
  Settings& settings_;
  std::vector<SettingField> fields_;
};

// The first line that opens a table with something else than a name; the last line where there is none.
int bad_table_line(std::string_view text) {
  int number = 0;
  for (const std::string_view piece : split(text, '\n')) {
    ++number;
    std::string_view line = trim(piece);
    if (!line.starts_with('[')) continue;
    line = trim(line.substr(line.starts_with("[[") ? 2 : 1));
    const unsigned char first = line.empty() ? 0 : static_cast<unsigned char>(line.front());
    if (!std::isalnum(first) && first != '_' && first != '-' && first != '"' && first != '\'') return number;
  }
  return number;
}

std::string toml_key(const std::string& key) {
  const bool bare = !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  if (bare) return key;
  std::string out = "\"";
  for (const char c : key)
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 32 || c == 127)
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    else
      out += c;
  return out + "\"";
}

}  // namespace

Result<Ok> check_settings(const Settings& c) {
  if (c.places.driver != "nvml" && c.places.driver != "mps" && !c.places.driver.starts_with("emulate:"))
    return invalid("driver must be nvml, mps or emulate:8xa100-40gb, not '{}'", c.places.driver);
  if (c.oom.early != "projection" && c.oom.early != "line" && c.oom.early != "off")
    return invalid("oom.early must be projection, line or off, not '{}'", c.oom.early);
  if (c.containers.runtime != "podman" && c.containers.runtime != "apptainer" && c.containers.runtime != "singularity")
    return invalid("containers.runtime must be podman, apptainer or singularity, not '{}'", c.containers.runtime);
  if (c.ports.first > c.ports.last)
    return invalid("ports.first is {}, above ports.last, which is {}", c.ports.first, c.ports.last);
  if (c.policy.name.empty()) return invalid("policy is empty; name one, for example best");
  if (c.tcp.listen.empty()) return Ok{};
  if (c.tcp.token_file.empty()) return invalid("tcp.listen needs tcp.token_file");
  if (c.tcp.tls && (c.tcp.certificate.empty() || c.tcp.key.empty()))
    return invalid("tcp.tls needs tcp.certificate and tcp.key (or tcp.tls = false behind a proxy that speaks TLS)");
  return Ok{};
}

Result<Settings> parse_settings(const std::string& name, std::string_view text) {
  if (const int line = line_outside_utf8(text)) return invalid("{} line {}: not UTF-8", name, line);
  const AsciiText source(text);
  Settings settings;
  try {
    const toml::table table = toml::parse(source.ascii(), std::string_view(name));
    Reading reading(name, source, settings);
    SMARTMIG_RETURN_IF_ERROR(reading.table(table, ""));
  } catch (const toml::parse_error& error) {
    const std::size_t line = error.source().begin.line;
    return invalid("{} line {}: {}", name, line, syntax_words(text, line, source.back(error.description())));
  } catch (const std::logic_error&) {
    return invalid("{} line {}: a table's name is malformed: write [limits]", name, bad_table_line(text));
  }
  if (auto whole = check_settings(settings); !whole) return invalid("{}: {}", name, whole.error().what);
  return settings;
}

Result<Settings> read_settings(const std::string& path) {
  SMARTMIG_TRY(const std::string text, read_file(path));
  if (text.size() > (1u << 20)) return invalid("{} is larger than 1 MiB, so it is not a configuration", path);
  return parse_settings(path, text);
}

std::string to_toml(const Settings& settings, bool comments) {
  Settings copy = settings;
  std::string out = comments ? "# All settings of smartmig serve, with their defaults or the values in effect.\n" : "";
  std::string section;
  for (const SettingField& field : setting_fields(copy)) {
    const bool is_table = !field.set;
    const auto dot = field.key.find('.');
    const std::string table = is_table ? field.key : dot == field.key.npos ? "" : field.key.substr(0, dot);
    if (table != section) out += fmt::format("{}[{}]\n", out.empty() ? "" : "\n", section = table);
    if (comments) out += fmt::format("# {}{}\n", field.help, field.reloadable ? "" : " (requires a restart)");
    if (field.key == "quota") {
      if (comments && settings.quota.limits.empty())
        out +=
            "# beyond = \"refuse\"   # at submit; otherwise jobs wait until next week\n"
            "# group.default.gpu_hours = 40   # of each group without its own quota\n";
      if (settings.quota.refuse) out += "beyond = \"refuse\"\n";
      for (const auto& [name, limit] : settings.quota.limits) {
        out += fmt::format("[quota.{}.{}]\n", kScopes[int(name.first)], toml_key(name.second));
        if (limit.slices > 0) out += fmt::format("slices = {}\n", limit.slices);
        if (limit.gpu_hours > 0) out += fmt::format("gpu_hours = {}\n", limit.gpu_hours);
        if (limit.energy_kwh > 0) out += fmt::format("energy_kwh = {}\n", limit.energy_kwh);
      }
      continue;
    }
    if (is_table) {
      if (comments && settings.limits.priorities.empty()) out += "# anna = 10\n";
      for (const auto& [user, priority] : settings.limits.priorities)
        out += fmt::format("{} = {}\n", toml_key(user), priority);
      continue;
    }
    out += fmt::format("{} = {}\n", dot == field.key.npos ? field.key : field.key.substr(dot + 1), field.toml());
  }
  return out;
}

std::vector<std::string> fixed_changes(const Settings& running, const Settings& wanted) {
  Settings a = running, b = wanted;
  const auto now = setting_fields(a), then = setting_fields(b);
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < now.size(); ++i)
    if (!now[i].reloadable && now[i].toml() != then[i].toml()) keys.push_back(now[i].key);
  return keys;
}

}  // namespace smartmig
