// Settings from and to TOML. A setting that is not in the file has the default shown by `smartmig serve --gen-config`;
// a key that is not in setting_fields() is an error with file, line and nearest key. SIGHUP reads the file again and
// changes everything except the fields that are not `reloadable`, which need a restart (fixed_changes names them).
#pragma once
#include <functional>
#include <string_view>

#include "base/result.h"
#include "queue/config/settings.h"

namespace smartmig {

// A value of a TOML file, as far as settings need it.
struct ConfigValue {
  enum Kind { kText, kWhole, kNumber, kBool, kTexts, kOther } kind = kOther;
  std::string text;
  std::int64_t whole = 0;
  double number = 0;
  bool yes = false;
  std::vector<std::string> texts;
};

struct SettingField {
  std::string key;   // "limits.user_slices"; "priorities" stands for its whole table
  std::string help;  // one line
  bool reloadable = true;
  std::function<Result<Ok>(const ConfigValue&)> set;
  std::function<std::string()> toml;  // the present value
};
std::vector<SettingField> setting_fields(Settings& settings);  // in the order of the file

Result<Settings> parse_settings(const std::string& name, std::string_view text);
Result<Settings> read_settings(const std::string& path);
Result<Ok> check_settings(const Settings& settings);  // what only several settings together can break
std::string to_toml(const Settings& settings, bool comments);
// Keys that differ and that a running daemon cannot take over.
std::vector<std::string> fixed_changes(const Settings& running, const Settings& wanted);

}  // namespace smartmig
