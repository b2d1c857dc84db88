#include "cli/gpus/layout_drawing.h"

#include <fmt/format.h>

#include <algorithm>

namespace smartmig::cli {
namespace {

std::string profile_label(const Profile& p) {
  return p.variant == Variant::kPlain ? p.name.substr(0, p.name.find('.')) : p.name;
}

std::string without_trailing_spaces(const std::string& line) { return line.substr(0, line.find_last_not_of(' ') + 1); }

}  // namespace

LayoutDrawing::LayoutDrawing(const GpuModel& model, const std::vector<Layout>& layouts) : model_(model) {
  for (Layout layout : layouts)
    for (PlacementId p : layout) {
      const Profile& profile = model.profile_of(p);
      cell_ = std::max(cell_, (profile_label(profile).size() + 2 + std::size_t(profile.memory_slices) - 1) /
                                  std::size_t(profile.memory_slices));
    }
}

std::string LayoutDrawing::axis() const {
  std::string line;
  for (int s = 0; s < model_.memory_slices(); ++s) line += fmt::format(" {:<{}}", s, cell_ - 1);
  return without_trailing_spaces(line);
}

std::string LayoutDrawing::operator()(Layout layout) const {
  std::string line;
  for (int s = 0; s < model_.memory_slices(); ++s) line += fmt::format(" {:<{}}", ".", cell_ - 1);
  for (PlacementId p : layout) {
    const Profile& profile = model_.profile_of(p);
    const std::size_t width = cell_ * std::size_t(profile.memory_slices);
    line.replace(cell_ * model_.placement(p).start, width, fmt::format("[{:<{}}]", profile_label(profile), width - 2));
  }
  return without_trailing_spaces(line);
}

}  // namespace smartmig::cli
