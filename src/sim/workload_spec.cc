#include "sim/workload_spec.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/text.h"
#include "sim/drawn_workloads.h"

namespace smartmig {
namespace {

using Family = WorkloadSpec::Family;
constexpr std::array<std::pair<std::string_view, Family>, 4> kFamilies = {
    {{"paper", Family::kPaper}, {"fixed", Family::kFixed}, {"miso", Family::kMiso}, {"parva", Family::kParva}}};
constexpr int kMaxDays = 3660;

// Splits "8-12" at the first dash that leaves a number on both sides ("1e-3-2" is 1e-3 and 2).
std::optional<std::pair<std::string_view, std::string_view>> split_range(std::string_view text) {
  for (auto dash = text.find('-', 1); dash != text.npos; dash = text.find('-', dash + 1))
    if (parse_double(text.substr(0, dash)) && parse_double(text.substr(dash + 1)))
      return {{text.substr(0, dash), text.substr(dash + 1)}};
  return std::nullopt;
}

Result<Ok> set_hours(WorkloadSpec& spec, std::string_view value) {
  if (const auto range = split_range(value)) {
    const auto first = parse_int(range->first), last = parse_int(range->second);
    if (first && last && *first >= 0 && *first < *last && *last <= 24) {
      spec.first_hour = int(*first);
      spec.last_hour = int(*last);
      return Ok{};
    }
  }
  return invalid("hours must be whole hours of the day, FIRST-LAST with 0 <= FIRST < LAST <= 24, not '{}'", value);
}

Result<Ok> set(WorkloadSpec& spec, std::string_view key, std::string_view value) {
  const auto number = parse_double(value);
  const auto whole = parse_int(value);
  if (key == "seed") {
    if (!whole || *whole < 0) return invalid("seed must be a whole number from 0, not '{}'", value);
    spec.seed = std::uint64_t(*whole);
  } else if (key == "days") {
    if (!whole || *whole < 1 || *whole > kMaxDays)
      return invalid("days must be a whole number from 1 to {}, not '{}'", kMaxDays, value);
    spec.days = int(*whole);
  } else if (key == "hours") {
    return set_hours(spec, value);
  } else if (key == "slack") {
    SMARTMIG_TRY(spec.slack, parse_slack(value));
  } else if (key == "rate") {
    if (!number || *number < 1e-6 || *number > 1e9)
      return invalid("rate must be arrivals per minute between 1e-6 and 1e9, not '{}'", value);
    spec.rate = *number;
  } else if (key == "jobs") {
    if (!whole || *whole < 1 || double(*whole) > kMaxGeneratedJobs)
      return invalid("jobs must be a whole number from 1 to {}, not '{}'", std::int64_t(kMaxGeneratedJobs), value);
    spec.jobs = *whole;
  } else if (key == "mix") {
    const std::vector<std::string> mixes = {"mixed", "linear", "sublinear", "capped"};
    if (std::find(mixes.begin(), mixes.end(), value) == mixes.end())
      return invalid("mix must be mixed, linear, sublinear or capped, not '{}'", value);
    spec.mix = value;
  } else {
    const std::string near = nearest(key, {"seed", "days", "hours", "slack", "rate", "jobs", "mix"});
    return invalid("unknown setting '{}'{}", key, near.empty() ? "" : ", did you mean " + near + "?");
  }
  return Ok{};
}

Result<Ok> check_together(const WorkloadSpec& spec, const std::set<std::string, std::less<>>& given) {
  const bool daily = spec.multiplier > 0;
  if (!daily && (spec.rate == 0 || spec.jobs == 0))
    return invalid(
        "has no load; give a multiple of the daily profile such as 20x, or rate= (per minute) "
        "and jobs=");
  if (daily && (given.count("rate") || given.count("jobs")))
    return invalid("has both a multiple of the daily profile and rate= or jobs=; give one");
  if (!daily && (given.count("days") || given.count("hours")))
    return invalid("has days= or hours=, which need a multiple of the daily profile such as 20x");
  if (spec.family != Family::kFixed && given.count("mix")) return invalid("has mix=, which only fixed: takes");
  if (expected_jobs(spec) > kMaxGeneratedJobs)
    return invalid("would make about {:.0f} jobs, more than {:.0f}", expected_jobs(spec), kMaxGeneratedJobs);
  if (!daily && double(spec.jobs) / spec.rate * 60 > kMaxSeconds / 100)
    return invalid("spans more than 1e8 s; raise rate= or lower jobs=");
  return Ok{};
}

}  // namespace

std::string to_string(const SlackRange& slack) {
  return slack.none ? "none" : fmt::format("{}-{}", slack.low, slack.high);
}

Result<SlackRange> parse_slack(std::string_view text) {
  SlackRange slack;
  if (text == "none") {
    slack.none = true;
    return slack;
  }
  if (const auto one = parse_double(text)) {
    slack.low = slack.high = *one;
  } else if (const auto range = split_range(text)) {
    slack = {*parse_double(range->first), *parse_double(range->second)};
  } else {
    return invalid("slack must be LOW-HIGH, for example 1-1.5, or none, not '{}'", text);
  }
  if (slack.low < 0 || slack.low > slack.high || slack.high > 100)
    return invalid("slack must have 0 <= LOW <= HIGH <= 100, not '{}'", text);
  return slack;
}

bool is_workload_spec(std::string_view text) {
  for (const auto& [prefix, family] : kFamilies)
    if (text.starts_with(prefix) && text.size() > prefix.size() && text[prefix.size()] == ':') return true;
  return false;
}

Result<WorkloadSpec> parse_workload_spec(std::string_view text) {
  if (!is_workload_spec(text))
    return invalid("'{}' is not a workload spec; it must start with paper:, fixed:, miso: or parva:", text);
  WorkloadSpec spec;
  const auto colon = text.find(':');
  for (const auto& [prefix, family] : kFamilies)
    if (text.substr(0, colon) == prefix) spec.family = family;
  std::set<std::string, std::less<>> given;
  for (const std::string_view item : split(text.substr(colon + 1), ',')) {
    const auto equals = item.find('=');
    const std::string_view key = equals == item.npos ? "x" : item.substr(0, equals);
    if (!given.emplace(key).second)
      return invalid("workload {}: '{}' is given twice", text, equals == item.npos ? item : key);
    if (equals == item.npos) {
      const auto multiplier = item.empty() ? std::nullopt : parse_double(item.substr(0, item.size() - 1));
      if (item.empty() || item.back() != 'x' || !multiplier || *multiplier < 1e-6 || *multiplier > 1e9)
        return invalid("workload {}: '{}' is neither a load such as 20x nor a setting such as seed=7", text, item);
      spec.multiplier = *multiplier;
    } else if (auto done = set(spec, key, item.substr(equals + 1)); !done) {
      return invalid("workload {}: {}", text, done.error().what);
    }
  }
  if (auto together = check_together(spec, given); !together)
    return invalid("workload {} {}", text, together.error().what);
  return spec;
}

std::string to_string(const WorkloadSpec& spec) {
  std::string out;
  for (const auto& [prefix, family] : kFamilies)
    if (family == spec.family) out = fmt::format("{}:", prefix);
  if (spec.multiplier > 0) {
    out += fmt::format("{}x,seed={},days={}", spec.multiplier, spec.seed, spec.days);
    if (spec.first_hour != 0 || spec.last_hour != 24)
      out += fmt::format(",hours={}-{}", spec.first_hour, spec.last_hour);
  } else {
    out += fmt::format("rate={},jobs={},seed={}", spec.rate, spec.jobs, spec.seed);
  }
  if (spec.family == Family::kFixed) out += ",mix=" + spec.mix;
  return out + ",slack=" + to_string(spec.slack);
}

namespace {

Result<Workload> generate_with_deadlines(const WorkloadSpec& spec) {
  switch (spec.family) {
    case Family::kPaper:
      return paper_workload(spec);
    case Family::kFixed:
      return fixed_workload(spec);
    default:
      return curve_workload(spec);
  }
}

}  // namespace

Result<Workload> generate(const WorkloadSpec& spec) {
  SMARTMIG_TRY(Workload workload, generate_with_deadlines(spec));
  if (!spec.slack.none) return workload;
  for (Job& job : workload.jobs) job.deadline = kNever;
  for (std::string& rule : workload.rules)
    if (rule.starts_with("deadlines:")) rule = "deadlines: none";
  return workload;
}

Result<Workload> finish_workload(Workload workload, std::optional<double> days) {
  sort_by_submit(workload);
  std::vector<int> number(workload.kinds.size(), -1);
  std::vector<std::string> kinds;
  for (Job& job : workload.jobs) {
    if (job.kind < 0) continue;
    int& n = number[std::size_t(job.kind)];
    if (n < 0) {
      n = int(kinds.size());
      kinds.push_back(std::move(workload.kinds[std::size_t(job.kind)]));
    }
    job.kind = n;
  }
  workload.kinds = std::move(kinds);
  bool index_names = true;
  for (std::size_t i = 0; i < workload.names.size() && index_names; ++i)
    index_names = workload.names[i] == std::to_string(i);
  if (index_names) workload.names.clear();
  const double span =
      workload.jobs.empty() ? 0 : seconds(workload.jobs.back().submit - workload.jobs.front().submit) / 86400;
  workload.days = days.value_or(std::max(1.0, span));
  SMARTMIG_RETURN_IF_ERROR(validate(workload));
  return workload;
}

}  // namespace smartmig
