#include "cli/queue/gres.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "mig/catalog.h"

namespace smartmig::cli {
namespace {

bool looks_like_profile(std::string_view text) {
  const auto g = text.find("g.");
  return g != text.npos && g > 0 && parse_int(text.substr(0, g)).has_value();
}

}  // namespace

Result<GresSlice> read_gres(std::string_view text) {
  std::vector<std::string_view> words = split(text, ':');
  if (words.front() == "gpu" || words.front() == "gres/gpu") words.erase(words.begin());
  if (!words.empty() && parse_int(words.back())) {
    if (*parse_int(words.back()) != 1)
      return invalid("'{}' asks for several: a job gets one slice, because a CUDA process can use one MIG device",
                     text);
    words.pop_back();
  }
  if (words.empty()) return GresSlice{};
  if (words.size() > 1 || text.find(',') != text.npos)
    return invalid("'{}' is not understood: write gpu:1g.10gb:1 or gpu:1", text);
  std::string_view profile = words.front();
  if (const auto underscore = profile.rfind('_'); underscore != profile.npos) profile.remove_prefix(underscore + 1);
  if (!looks_like_profile(profile)) {
    if (text.substr(0, 3) != "gpu" && text.substr(0, 8) != "gres/gpu")
      return invalid("'{}' is not understood: write gpu:1g.10gb:1 or gpu:1", text);
    return GresSlice{};  // "gpu:a100:1"
  }
  GresSlice out;
  std::vector<std::string> names;
  for (const auto& model : Catalog::builtin().models())
    for (const Profile& known : model->spec().profiles) {
      names.push_back(known.name);
      if (known.name != profile || known.memory_mib == 0) continue;
      if (out.compute_slices == 0 || known.memory_mib < out.memory_mib) out = {known.compute_slices, known.memory_mib};
    }
  if (out.compute_slices == 0) {
    const std::string near = nearest(profile, names);
    return invalid("'{}' is not a profile of any GPU known{}; smartmig geometry lists them", profile,
                   near.empty() ? "" : ", did you mean " + near + "?");
  }
  return out;
}

}  // namespace smartmig::cli
