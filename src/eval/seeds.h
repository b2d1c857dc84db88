// Which seeds serve which purpose, so that no policy is scored on its training days.
//   1 .. 99,999            search and training
//   100,000 .. 109,999     validation
//   200,000 .. 209,999     reports
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smartmig {

inline constexpr std::uint64_t kFirstReportSeed = 200'000, kLastReportSeed = 209'999;
inline constexpr std::uint64_t kFirstValidationSeed = 100'000, kLastValidationSeed = 109'999;
inline constexpr std::uint64_t kFirstTrainingSeed = 1, kLastTrainingSeed = 99'999;

// "200000-200029", "1,2,5-9". At most 100,000 seeds.
Result<std::vector<std::uint64_t>> parse_seeds(std::string_view text);
std::vector<std::uint64_t> seeds_from(std::uint64_t first, std::size_t count);
std::string seeds_in_words(const std::vector<std::uint64_t>& seeds);

// The error names the first seed on which `policy` was trained.
Result<Ok> refuse_training_seeds(std::string_view policy, const std::vector<std::uint64_t>& trained_on,
                                 const std::vector<std::uint64_t>& scored_on);

}  // namespace smartmig
