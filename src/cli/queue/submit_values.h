// Reads the values of submit's options into a draft. Most options set one field to one value (value_of); the others
// have their own reader. Errors describe the value; the caller adds the name of the option.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/queue/submit_options.h"

namespace smartmig::cli {

// Slurm's notation for GPUs, as in --gres and --gpus: "gpu:1g.10gb:1", "gpu:a100_1g.5gb", "gpu:h100:1", "gpu:1", "1".
// The daemon decides whether the profile or model exists.
struct GresWords {
  std::string profile;  // "1g.10gb"; empty: none was named
  std::string model;    // "h100"; empty: none was named
};
Result<GresWords> read_gres(std::string_view text);
bool looks_like_profile(std::string_view text);  // "1g.10gb"

Result<int> whole_number(std::string_view text, std::int64_t low, std::int64_t high);

using ValueReader = Result<Ok> (*)(Draft& draft, std::string_view value, Dialect dialect, UnixTime now);
ValueReader find_value_reader(std::string_view option);  // nullptr: the value is that of its field
Result<Json> value_of(const JobField& field, const JobOption& option, std::string_view value, Dialect dialect);

// A duration from now, or an instant; of the two, the one that it says is set.
struct When {
  std::optional<Time> from_now;
  std::optional<UnixTime> at;
};
Result<When> read_when(std::string_view value, Dialect dialect, UnixTime now);

}  // namespace smartmig::cli
