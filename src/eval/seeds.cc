#include "eval/seeds.h"

#include <algorithm>

#include "base/text.h"

namespace smartmig {

Result<std::vector<std::uint64_t>> parse_seeds(std::string_view text) {
  std::vector<std::uint64_t> seeds;
  for (std::string_view part : split(text, ',')) {
    part = trim(part);
    const auto dash = part.find('-');
    const auto first = parse_int(part.substr(0, dash));
    const auto last = dash == part.npos ? first : parse_int(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first)
      return invalid("seeds '{}': write 200000-200029 or 1,2,5-9", part);
    if (std::uint64_t(*last - *first) + seeds.size() >= 100'000) return invalid("seeds '{}': more than 100,000", text);
    for (std::int64_t s = *first; s <= *last; ++s) seeds.push_back(std::uint64_t(s));
  }
  return seeds;
}

std::vector<std::uint64_t> seeds_from(std::uint64_t first, std::size_t count) {
  std::vector<std::uint64_t> seeds(count);
  for (std::size_t i = 0; i < count; ++i) seeds[i] = first + i;
  return seeds;
}

std::string seeds_in_words(const std::vector<std::uint64_t>& seeds) {
  std::string out;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    std::size_t last = i;
    while (last + 1 < seeds.size() && seeds[last + 1] == seeds[last] + 1) ++last;
    if (!out.empty()) out += ",";
    out += last > i ? fmt::format("{}-{}", seeds[i], seeds[last]) : fmt::format("{}", seeds[i]);
    i = last;
  }
  return out;
}

Result<Ok> refuse_training_seeds(std::string_view policy, const std::vector<std::uint64_t>& trained_on,
                                 const std::vector<std::uint64_t>& scored_on) {
  for (const std::uint64_t seed : scored_on)
    if (std::find(trained_on.begin(), trained_on.end(), seed) != trained_on.end())
      return invalid("{} was made on seed {}; use report seeds ({}-{})", policy, seed, kFirstReportSeed,
                     kLastReportSeed);
  return Ok{};
}

}  // namespace smartmig
