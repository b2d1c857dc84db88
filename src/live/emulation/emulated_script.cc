#include "live/emulation/emulated_script.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace smartmig {
namespace {

constexpr std::string_view kMemory = "SMARTMIG_EMULATED_MEMORY=", kSeconds = "SMARTMIG_EMULATED_SECONDS=",
                           kKind = "SMARTMIG_EMULATED_KIND=";
constexpr double kMostMib = 1e7, kMostSeconds = 1e9;

Result<std::vector<std::pair<double, double>>> pairs_of(std::string_view name, std::string_view text) {
  std::vector<std::pair<double, double>> out;
  for (const std::string_view piece : split(text, ',')) {
    const std::size_t colon = piece.find(':');
    const auto a = parse_double(piece.substr(0, std::min(colon, piece.size())));
    const auto b = colon == piece.npos ? std::nullopt : parse_double(piece.substr(colon + 1));
    if (!a || !b) return invalid("{}: '{}' is not NUMBER:NUMBER", name.substr(0, name.size() - 1), piece);
    out.push_back({*a, *b});
  }
  return out;
}

std::string joined(const std::vector<std::pair<double, double>>& pairs) {
  std::string out;
  for (const auto& [a, b] : pairs) out += fmt::format("{}{:g}:{:.10g}", out.empty() ? "" : ",", a, b);
  return out;
}

}  // namespace

Result<std::optional<EmulatedScript>> EmulatedScript::of(const std::vector<std::string>& environment) {
  EmulatedScript script;
  bool found = false;
  for (const std::string& entry : environment) {
    const std::string_view text(entry);
    if (text.starts_with(kMemory)) {
      SMARTMIG_TRY(script.memory, pairs_of(kMemory, text.substr(kMemory.size())));
      double before = -1;
      for (const auto& [share, mib] : script.memory) {
        if (share <= before || share < 0 || share > 1 || mib < 0 || mib > kMostMib)
          return invalid("SMARTMIG_EMULATED_MEMORY: shares rise from 0 to 1 and memory is 0 to {:.0f} MiB, not {}:{}",
                         kMostMib, share, mib);
        before = share;
      }
    } else if (text.starts_with(kSeconds)) {
      SMARTMIG_TRY(const auto pairs, pairs_of(kSeconds, text.substr(kSeconds.size())));
      for (const auto& [size, s] : pairs) {
        if (size < 1 || size > kMaxComputeSlices || size != double(int(size)) || s <= 0 || s > kMostSeconds)
          return invalid("SMARTMIG_EMULATED_SECONDS: sizes are 1 to {} and times above 0, not {}:{}", kMaxComputeSlices,
                         size, s);
        script.seconds[std::size_t(size) - 1] = s;
      }
    } else if (text.starts_with(kKind)) {
      script.kind = text.substr(kKind.size());
    } else {
      continue;
    }
    found = true;
  }
  if (!found) return std::optional<EmulatedScript>();
  return std::optional<EmulatedScript>(std::move(script));
}

std::vector<std::string> EmulatedScript::to_environment() const {
  std::vector<std::string> out;
  if (!memory.empty()) out.push_back(std::string(kMemory) + joined(memory));
  std::vector<std::pair<double, double>> times;
  for (std::size_t k = 0; k < seconds.size(); ++k)
    if (seconds[k] > 0) times.push_back({double(k + 1), seconds[k]});
  if (!times.empty()) out.push_back(std::string(kSeconds) + joined(times));
  if (!kind.empty()) out.push_back(std::string(kKind) + kind);
  return out;
}

double EmulatedScript::mib_at(double share) const {
  SMARTMIG_CHECK(!memory.empty(), "a script without memory");
  if (share <= memory.front().first) return memory.front().second;
  for (std::size_t i = 1; i < memory.size(); ++i) {
    const auto& [a, low] = memory[i - 1];
    const auto& [b, high] = memory[i];
    if (share <= b) return low + (high - low) * (share - a) / (b - a);
  }
  return memory.back().second;
}

std::optional<double> EmulatedScript::first_above(double limit_mib, double from_share) const {
  if (memory.empty()) return std::nullopt;
  if (mib_at(from_share) > limit_mib) return from_share;
  for (std::size_t i = 1; i < memory.size(); ++i) {
    const auto& [a, low] = memory[i - 1];
    const auto& [b, high] = memory[i];
    if (b <= from_share || high <= limit_mib) continue;
    if (low >= limit_mib) return std::max(a, from_share);
    return std::max(from_share, a + (b - a) * (limit_mib - low) / (high - low));
  }
  return std::nullopt;
}

}  // namespace smartmig
