// The values of submit's options, read into a draft: what each may say, and what it means in an #SBATCH line. An error
// says what is wrong with the value; who calls names the option.
#pragma once
#include <string_view>

#include "cli/queue/submit_options.h"

namespace smartmig::cli {

Result<int> whole_number(std::string_view text, std::int64_t low, std::int64_t high);

// A size needs its unit, but for Slurm's lines, where a bare number is MiB.
Result<Ok> set_gpu_memory(Draft& draft, std::string_view value, Dialect dialect, UnixTime);
Result<Ok> set_host_memory(Draft& draft, std::string_view value, Dialect dialect, UnixTime);
Result<Ok> set_memory_per_cpu(Draft& draft, std::string_view value, Dialect dialect, UnixTime);
Result<Ok> set_mem(Draft& draft, std::string_view value, Dialect dialect, UnixTime);
Result<Ok> set_task(Draft& draft, std::string_view value, Dialect, UnixTime);
Result<Ok> set_batch(Draft& draft, std::string_view value, Dialect, UnixTime);
Result<Ok> set_context(Draft& draft, std::string_view value, Dialect, UnixTime);
Result<Ok> set_precision(Draft& draft, std::string_view value, Dialect, UnixTime);
Result<Ok> set_optimizer(Draft& draft, std::string_view value, Dialect, UnixTime);
Result<Ok> set_deadline(Draft& draft, std::string_view value, Dialect dialect, UnixTime now);
// A duration from now, or an instant; of the two, the one that it says is set.
struct When {
  std::optional<Time> from_now;
  std::optional<UnixTime> at;
};
Result<When> read_when(std::string_view value, Dialect dialect, UnixTime now);
Result<Ok> set_begin(Draft& draft, std::string_view value, Dialect dialect, UnixTime now);
Result<Ok> set_mail_type(Draft& draft, std::string_view value, Dialect, UnixTime);
Result<Ok> set_time(Draft& draft, std::string_view value, Dialect, UnixTime);
Result<Ok> set_estimate(Draft& draft, std::string_view value, Dialect, UnixTime);
Result<Ok> set_array(Draft& draft, std::string_view value, Dialect, UnixTime);
Result<Ok> set_dependency(Draft& draft, std::string_view value, Dialect, UnixTime);
Result<Ok> set_checkpoint(Draft& draft, std::string_view value, Dialect, UnixTime);
Result<Ok> set_restart(Draft& draft, std::string_view value, Dialect, UnixTime);
Result<Ok> set_grace(Draft& draft, std::string_view value, Dialect, UnixTime);
Result<Ok> set_signal(Draft& draft, std::string_view value, Dialect dialect, UnixTime now);
// Of what says how large the slice is, the last one wins.
Result<Ok> set_gres(Draft& draft, std::string_view value, Dialect, UnixTime);
Result<Ok> set_profile(Draft& draft, std::string_view value, Dialect dialect, UnixTime);
Result<Ok> set_min_slices(Draft& draft, std::string_view value, Dialect, UnixTime);
Result<Ok> set_max_slices(Draft& draft, std::string_view value, Dialect, UnixTime);
Result<Ok> set_exclusive(Draft& draft, std::string_view value, Dialect, UnixTime);
Result<Ok> set_directory(Draft& draft, std::string_view value, Dialect, UnixTime);

}  // namespace smartmig::cli
