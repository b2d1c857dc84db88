#include "live/gpu/intent.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "live/durable_file.h"

namespace smartmig {

std::string intent_path(const std::string& state_dir, const std::string& gpu) {
  return fmt::format("{}/intent-{}.json", state_dir, gpu);
}

std::string to_json(const Intent& intent) {
  const nlohmann::ordered_json json{
      {"gpu", intent.gpu}, {"model", intent.model}, {"from", intent.from}, {"to", intent.to}};
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<Intent> parse_intent(const std::string& path, std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  Intent intent;
  for (const auto& [key, field] : {std::pair("gpu", &intent.gpu), std::pair("model", &intent.model),
                                   std::pair("from", &intent.from), std::pair("to", &intent.to)}) {
    if (!json.is_object() || !json.contains(key) || !json[key].is_string())
      return invalid("{}: not an intent, it lacks '{}'; look at the GPU with smartmig gpus, then remove the file", path,
                     key);
    *field = json[key].get<std::string>();
  }
  return intent;
}

Result<std::vector<Intent>> read_intents(const std::string& state_dir) {
  std::vector<Intent> intents;
  for (const std::string& path : files_in(state_dir, "intent-", ".json")) {
    SMARTMIG_TRY(const std::string text, read_file(path));
    SMARTMIG_TRY(Intent intent, parse_intent(path, text));
    intents.push_back(std::move(intent));
  }
  return intents;
}

}  // namespace smartmig
