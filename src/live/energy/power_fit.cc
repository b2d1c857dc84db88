#include "live/energy/power_fit.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "live/durable_file.h"

namespace smartmig {
namespace {

constexpr double kMostFitWatts = 1e5, kMostFitSeconds = 1e10;
constexpr int kMostFitSlices = 64;

}  // namespace

Result<PowerFit> PowerFit::open(std::string path) {
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path, error)) {
    PowerFit empty;
    empty.path_ = std::move(path);
    return empty;
  }
  SMARTMIG_TRY(const std::string text, read_file(path));
  auto fit = parse(path, text);
  if (!fit) return invalid("{}; remove the file to begin with no readings", fit.error().what);
  return fit;
}

Result<PowerFit> PowerFit::parse(std::string path, std::string_view text) {
  PowerFit fit;
  SMARTMIG_TRY(const Json json, parse_json(path, text));
  if (!json.is_object()) return invalid("{}: not an object of GPU models", path);
  for (const auto& [model, readings] : json.items()) {
    SMARTMIG_TRY(const JsonObject object, JsonObject::open(readings, path, model, {"cap_w", "readings"}));
    Readings& into = fit.models_[model];
    SMARTMIG_TRY(into.cap_w, object.number("cap_w", 0, kMostFitWatts));
    const Json rows = readings.value("readings", Json::array());
    if (!rows.is_array()) return invalid("{}: {}.readings is not a list", path, model);
    for (const Json& row : rows) {
      SMARTMIG_TRY(const JsonObject one, JsonObject::open(row, path, model, {"busy_slices", "seconds", "joules"}));
      SMARTMIG_TRY(const double slices, one.number("busy_slices", 0, kMostFitSlices));
      Sum& sum = into.by_slices[int(slices)];
      SMARTMIG_TRY(sum.seconds, one.number("seconds", 0, kMostFitSeconds));
      SMARTMIG_TRY(sum.joules, one.number("joules", 0, kMostFitSeconds * kMostFitWatts));
    }
  }
  fit.path_ = std::move(path);
  return fit;
}

void PowerFit::add(const std::string& model, int busy_slices, double length_s, double joules, double cap_w) {
  if (busy_slices < 0 || busy_slices > kMostFitSlices || !(length_s > 0) || !(joules >= 0)) return;
  if (joules > length_s * kMostFitWatts) return;
  Readings& readings = models_[model];
  readings.cap_w = std::max({readings.cap_w, cap_w, joules / length_s});
  Sum& sum = readings.by_slices[busy_slices];
  if (sum.seconds + length_s > kMostFitSeconds) return;
  sum.seconds += length_s;
  sum.joules += joules;
}

std::optional<PowerFit::Line> PowerFit::line(const std::string& model) const {
  const auto found = models_.find(model);
  if (found == models_.end()) return {};
  Line line;
  line.cap_w = found->second.cap_w;
  double idle_s = 0, busy_s = 0, mean_slices = 0, mean_watts = 0;
  std::size_t levels = 0;
  for (const auto& [slices, sum] : found->second.by_slices) {
    if (sum.seconds <= 0) continue;
    line.observed_s += sum.seconds;
    if (slices == 0) {
      idle_s = sum.seconds;
      line.idle_w = sum.joules / sum.seconds;
      continue;
    }
    ++levels;
    busy_s += sum.seconds;
    mean_slices += slices * sum.seconds;
    mean_watts += sum.joules;
  }
  if (idle_s <= 0 || busy_s <= 0) return {};
  mean_slices /= busy_s;
  mean_watts /= busy_s;
  double covariance = 0, variance = 0;
  for (const auto& [slices, sum] : found->second.by_slices) {
    if (slices == 0 || sum.seconds <= 0) continue;
    const double off = slices - mean_slices;
    covariance += sum.seconds * off * (sum.joules / sum.seconds - mean_watts);
    variance += sum.seconds * off * off;
  }
  line.per_slice_w =
      levels > 1 ? std::max(0.0, covariance / variance) : std::max(0.0, mean_watts - line.idle_w) / mean_slices;
  line.base_w = levels > 1 ? std::max(0.0, mean_watts - line.per_slice_w * mean_slices) : line.idle_w;
  line.ready = line.observed_s >= kReadyS && idle_s >= kReadyIdleS && busy_s >= kReadyBusyS;
  return line;
}

std::string PowerFit::Line::power_name() const {
  return fmt::format("fitted:{:.1f}:{:.1f}:{:.2f}:{:.0f}", idle_w, base_w, per_slice_w, std::ceil(cap_w));
}

std::vector<std::string> PowerFit::models() const {
  std::vector<std::string> names;
  for (const auto& [model, readings] : models_) names.push_back(model);
  return names;
}

std::string PowerFit::text() const {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [model, readings] : models_) {
    auto rows = nlohmann::ordered_json::array();
    for (const auto& [slices, sum] : readings.by_slices)
      rows.push_back({{"busy_slices", slices}, {"seconds", sum.seconds}, {"joules", sum.joules}});
    json[model] = {{"cap_w", readings.cap_w}, {"readings", std::move(rows)}};
  }
  return json_dump(json, 1) + "\n";
}

Result<Ok> PowerFit::save() const {
  if (path_.empty()) return Ok{};
  return write_durably(path_, text());
}

}  // namespace smartmig
