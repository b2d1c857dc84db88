#include "live/gpu/intent.h"

#include "base/file.h"
#include "base/json.h"
#include "live/durable_file.h"

namespace smartmig {

std::string intent_path(const std::string& state_dir, const std::string& gpu) {
  return fmt::format("{}/intent-{}.json", state_dir, gpu);
}

std::string to_json(const Intent& intent) {
  const nlohmann::ordered_json json{
      {"gpu", intent.gpu}, {"model", intent.model}, {"from", intent.from}, {"to", intent.to}};
  return json_dump(json, 1) + "\n";
}

Result<Intent> parse_intent(const std::string& path, std::string_view text) {
  const auto read = [&]() -> Result<Intent> {
    SMARTMIG_TRY(const Json json, parse_json(path, text));
    SMARTMIG_TRY(const JsonObject root, JsonObject::open(json, path, "", {"gpu", "model", "from", "to"}));
    Intent intent;
    SMARTMIG_TRY(intent.gpu, root.any_text("gpu"));
    SMARTMIG_TRY(intent.model, root.any_text("model"));
    SMARTMIG_TRY(intent.from, root.any_text("from"));
    SMARTMIG_TRY(intent.to, root.any_text("to"));
    return intent;
  };
  auto intent = read();
  if (!intent) return invalid("{}; look at the GPU with smartmig gpus, then remove the file", intent.error().what);
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
