#include "sim/batsim_json.h"

#include <cmath>

#include "base/json.h"
#include "sim/trace_jobs.h"

namespace smartmig {
namespace {

// Skips Batsim's own keys, so objects are read key by key.
// The number under a key; nullopt if there is none. `owner` names the object in the error.
Result<std::optional<double>> number_in(const Json& object, const char* key, double low, const std::string& owner) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::optional<double>();
  if (!found->is_number()) return invalid("{}: '{}' is not a number", owner, key);
  const double value = found->get<double>();
  if (!std::isfinite(value) || value < low || value > kMaxSeconds)
    return invalid("{}: '{}' is {}; it must lie between {} and {}", owner, key, value, low, kMaxSeconds);
  return std::optional<double>(value);
}

Result<std::string> text_of(const Json& object, const char* key, const std::string& owner) {
  const auto found = object.find(key);
  if (found == object.end()) return invalid("{}: '{}' is missing", owner, key);
  std::string text;
  if (found->is_string())
    text = found->get<std::string>();
  else if (found->is_number_integer())
    text = found->dump();
  if (text.empty()) return invalid("{}: '{}' must be a text or a whole number", owner, key);
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 32) return invalid("{}: '{}' contains a control character", owner, key);
  return text;
}

}  // namespace

Result<Workload> read_batsim_json(const std::string& name, std::string_view text, const LoadOptions& options) {
  SMARTMIG_TRY(const Json root, parse_json(name, text));
  if (!root.is_object() || !root.contains("jobs") || !root["jobs"].is_array() || !root.contains("profiles") ||
      !root["profiles"].is_object())
    return invalid("{} is JSON but not a Batsim workload, which has a list 'jobs' and an object 'profiles'", name);
  const Json& profiles = root["profiles"];
  SMARTMIG_TRY(TraceJobs jobs, TraceJobs::open(name, "job id", options));
  std::size_t number = 0, by_walltime = 0;
  for (const Json& entry : root["jobs"]) {
    std::string owner = fmt::format("{}, job {} of the list", name, ++number);
    if (!entry.is_object()) return invalid("{}: is not an object", owner);
    TraceJob job;
    SMARTMIG_TRY(job.id, text_of(entry, "id", owner));
    owner = fmt::format("{}, job {}", name, job.id);
    if (jobs.known(job.id)) return invalid("{}: the id is given twice", owner);
    SMARTMIG_TRY(job.submit_s, number_in(entry, "subtime", 0, owner));
    SMARTMIG_TRY(const auto res, number_in(entry, "res", 0, owner));
    job.gpus = res.value_or(1);
    SMARTMIG_TRY(const auto walltime, number_in(entry, "walltime", -1, owner));
    SMARTMIG_TRY(const std::string profile, text_of(entry, "profile", owner));
    const auto found = profiles.find(profile);
    if (found == profiles.end() || !found->is_object()) return invalid("{}: there is no profile '{}'", owner, profile);
    SMARTMIG_TRY(const std::string type, text_of(*found, "type", fmt::format("{}, profile {}", name, profile)));
    if (type == "delay") {
      SMARTMIG_TRY(job.duration_s,
                   number_in(*found, "delay", -kMaxSeconds, fmt::format("{}, profile {}", name, profile)));
    } else {
      job.duration_s = walltime;
      by_walltime += walltime.has_value();
    }
    job.kind = profile;
    jobs.add(job);
  }
  if (by_walltime > 0)
    jobs.note(
        fmt::format("{} jobs have a profile without a delay: their walltime is taken as the duration", by_walltime));
  return jobs.finish();
}

}  // namespace smartmig
