// The intent of a reshape, written before it and removed after it: enough to finish or undo the work of a process that
// died. One file per GPU in the state directory, intent-UUID.json; see durable_file.h for why it is whole or absent.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace smartmig {

struct Intent {
  std::string gpu, model, from, to;  // layouts as text: "4g.20gb@0+3g.20gb@4" or "empty"
};

std::string intent_path(const std::string& state_dir, const std::string& gpu);
std::string to_json(const Intent& intent);
Result<Intent> parse_intent(const std::string& path, std::string_view text);
Result<std::vector<Intent>> read_intents(const std::string& state_dir);

}  // namespace smartmig
