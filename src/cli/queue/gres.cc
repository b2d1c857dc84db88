#include "cli/queue/gres.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "mig/catalog.h"

namespace smartmig::cli {
namespace {

Error not_understood(std::string_view text) {
  return invalid("cannot read '{}': write gpu:1g.10gb:1, gpu:h100:1 or gpu:1", text);
}

// "h100" of h100-80gb-sxm: what else stands before a count may be a gres of another sort.
bool starts_a_model(std::string_view word) {
  const auto models = Catalog::builtin().models();
  return std::any_of(models.begin(), models.end(), [&](const auto& model) {
    const std::string& name = model->name();
    return name.starts_with(word) && (name.size() == word.size() || name[word.size()] == '-');
  });
}

}  // namespace

bool looks_like_profile(std::string_view text) {
  const auto g = text.find("g.");
  if (g == text.npos || !parse_int(text.substr(0, g))) return false;
  const auto gb = text.find("gb", g);
  return gb != text.npos && parse_int(text.substr(g + 2, gb - g - 2)).has_value();
}

Result<GresWords> read_gres(std::string_view text) {
  std::vector<std::string_view> words = split(text, ':');
  const bool gpu = words.front() == "gpu" || words.front() == "gres/gpu";
  if (gpu) words.erase(words.begin());
  if (!words.empty() && parse_int(words.back())) {
    const std::int64_t count = *parse_int(words.back());
    if (count > 1)
      return invalid("'{}' requests {} GPUs, but a job gets one slice; jobs on several GPUs are not supported", text,
                     count);
    if (count < 1) return invalid("'{}' requests no GPU, but every job gets a slice", text);
    words.pop_back();
  } else if (!gpu && words.size() == 1 && !looks_like_profile(words[0]) && !starts_a_model(words[0]) &&
             text.find('_') == text.npos) {
    return not_understood(text);
  }
  if (words.empty()) return GresWords{};
  if (words.size() > 1 || words[0].empty() || text.find(',') != text.npos) return not_understood(text);
  GresWords out;
  std::string_view model = words[0], profile = words[0];
  if (const auto underscore = profile.rfind('_'); underscore != profile.npos) profile.remove_prefix(underscore + 1);
  if (looks_like_profile(profile)) {
    out.profile = profile;
    model.remove_suffix(std::min(model.size(), profile.size() + 1));
    if (model == "mig" || model.ends_with("_mig")) model.remove_suffix(std::min<std::size_t>(model.size(), 4));
  } else if (!gpu && !starts_a_model(lower(model))) {
    return not_understood(text);
  }
  out.model = lower(model);
  return out;
}

}  // namespace smartmig::cli
