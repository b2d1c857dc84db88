#include "sim/estimates.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "base/rng.h"
#include "base/text.h"

namespace smartmig {
namespace {

constexpr std::uint64_t kStream = 0x65737469;

// Geometric means over all jobs, or over the jobs of each kind (kind -1 first).
std::vector<double> mean_logs(const Workload& workload, bool by_kind) {
  std::vector<double> sum(workload.kinds.size() + 1, 0.0), count(sum.size(), 0.0);
  for (const Job& job : workload.jobs) {
    const std::size_t group = by_kind ? std::size_t(job.kind + 1) : 0;
    sum[group] += log_time(job);
    count[group] += 1;
  }
  for (std::size_t g = 0; g < sum.size(); ++g) sum[g] = count[g] > 0 ? sum[g] / count[g] : 0;
  return sum;
}

}  // namespace

double log_time(const Job& job) {
  Time least = kNever;
  for (const Time time : job.work)
    if (time >= Time{0}) least = std::min(least, time);
  return deterministic_log(std::max(1e-3, seconds(least)));
}

Result<EstimateRule> parse_estimates(std::string_view text) {
  using Source = EstimateRule::Source;
  EstimateRule rule;
  std::string_view words = text;
  if (words.ends_with(",told")) {
    rule.learned = false;
    words.remove_suffix(5);
  }
  const auto parts = split(words, ':');
  const auto number = [&](std::size_t i) { return i < parts.size() ? parse_double(parts[i]) : std::nullopt; };
  const auto wrong = [&](std::string_view what) {
    return invalid(
        "--estimates '{}': {}; write exact, lognormal:S[:BIAS], over:S, kind, flat or none, and ,told after it to "
        "believe them as they are",
        text, what);
  };
  std::size_t most = 1;
  if (parts[0] == "exact") {
    rule.source = Source::kExact;
  } else if (parts[0] == "kind") {
    rule.source = Source::kKind;
  } else if (parts[0] == "flat") {
    rule.source = Source::kFlat;
  } else if (parts[0] == "none") {
    rule.source = Source::kNone;
    if (!rule.learned) return wrong("',told' needs a rule that tells run times");
  } else if (parts[0] == "lognormal" || parts[0] == "over") {
    rule.source = parts[0] == "over" ? Source::kOver : Source::kLognormal;
    most = rule.source == Source::kOver ? 2 : 3;
    const auto spread = number(1);
    if (!spread || !(*spread >= 0 && *spread <= 5)) return wrong("S is a number from 0 to 5");
    rule.spread = *spread;
    if (parts.size() > 2) {
      const auto bias = number(2);
      if (!bias || !(*bias >= 0.01 && *bias <= 100)) return wrong("BIAS is a number from 0.01 to 100");
      rule.bias = *bias;
    }
  } else {
    return wrong("not known");
  }
  if (parts.size() > most) return wrong("there is too much after a colon");
  return rule;
}

std::string to_string(const EstimateRule& rule) {
  using Source = EstimateRule::Source;
  std::string out;
  switch (rule.source) {
    case Source::kExact:
      return "exact";
    case Source::kLognormal:
      out = fmt::format("lognormal:{}", rule.spread);
      if (rule.bias != 1) out += fmt::format(":{}", rule.bias);
      break;
    case Source::kOver:
      out = fmt::format("over:{}", rule.spread);
      break;
    case Source::kKind:
      out = "kind";
      break;
    case Source::kFlat:
      out = "flat";
      break;
    case Source::kNone:
      out = "none";
      break;
  }
  return rule.learned ? out : out + ",told";
}

std::vector<double> told_factors(const EstimateRule& rule, const Workload& workload) {
  using Source = EstimateRule::Source;
  const bool by_kind = rule.source == Source::kKind;
  const std::vector<double> means = mean_logs(workload, by_kind);
  std::vector<double> out;
  out.reserve(workload.jobs.size());
  for (std::size_t j = 0; j < workload.jobs.size(); ++j) {
    const Job& job = workload.jobs[j];
    // The jobs of a window are numbered from 0; their instants distinguish them.
    Rng rng(mix64(workload.seed, std::uint64_t(job.submit.count())), mix64(kStream, j));
    switch (rule.source) {
      case Source::kLognormal:
        out.push_back(rule.bias * deterministic_exp(rule.spread * rng.normal()));
        break;
      case Source::kOver:
        out.push_back(deterministic_exp(rule.spread * std::abs(rng.normal())));
        break;
      case Source::kKind:
      case Source::kFlat:
        out.push_back(deterministic_exp(means[by_kind ? std::size_t(job.kind + 1) : 0] - log_time(job)));
        break;
      case Source::kExact:
      case Source::kNone:
        SMARTMIG_CHECK(false, "policies know the true run times");
    }
  }
  return out;
}

}  // namespace smartmig
