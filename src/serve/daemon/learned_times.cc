#include "serve/daemon/learned_times.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/math.h"
#include "base/printable.h"
#include "serve/daemon/command_key.h"

namespace smartmig {
namespace {

constexpr double kLeastSeconds = 1e-3;
constexpr double kRuns = 20, kMostRuns = 400, kMostSquare = 9;
constexpr std::size_t kMostChecked = 10'000;  // groups

double log_of(double seconds) { return deterministic_log(std::max(kLeastSeconds, seconds)); }

std::vector<std::string> checked_groups(const JobRecord& job) {
  const std::string source = name_of(job.work.source);
  return {source, source + " " + std::to_string(job.owner.uid)};
}

}  // namespace

std::string program_of_job(const JobRecord& job) {
  const CommandKey key = job.spec.command.empty() && job.spec.script.empty() ? key_of({job.spec.name})
                         : job.spec.script.empty() ? key_of(job.spec.command, job.launch.script)
                                                   : key_of(job.spec.command, job.spec.script);
  return std::string(program_of(key.signature));
}

std::string LearnedTimes::to_json() const {
  Json off = Json::array();
  for (const auto& [group, seen] : off_) off.push_back({group, seen.runs, seen.squares});
  Json out = Json::parse(times_.to_json());
  out["off"] = std::move(off);
  return json_dump(out);
}

Result<LearnedTimes> LearnedTimes::parse(const std::string& name, std::string_view text) {
  LearnedTimes out;
  SMARTMIG_TRY(Json json, parse_json(name, text));
  if (!json.is_object()) return invalid("{}: is no object", name);
  const Json off = json.contains("off") ? json["off"] : Json::array();
  json.erase("off");
  SMARTMIG_TRY(out.times_, TimeEstimator::parse(name, json_dump(json), kBounds));
  const bool listed = off.is_array() && off.size() <= kMostChecked;
  for (const Json& row : listed ? off : Json::array({Json()})) {
    const bool good =
        row.is_array() && row.size() == 3 && row[0].is_string() && row[1].is_number() && row[2].is_number();
    const double runs = good ? row[1].get<double>() : -1, squares = good ? row[2].get<double>() : -1;
    if (!(runs >= 0 && runs <= kMostRuns && squares >= 0 && squares <= kMostSquare * kMostRuns))
      return invalid("{}: off holds what is no group with its runs and squares", name);
    if (!out.off_.insert({row[0].get<std::string>(), Off{runs, squares}}).second)
      return invalid("{}: off has group '{}' twice", name, row[0].get<std::string>());
  }
  return out;
}

std::vector<std::string> LearnedTimes::groups_of(const JobRecord& job) {
  const bool by_limit = job.work.told > Time{0} && job.work.source != EstimateSource::kGiven;
  const std::string all = by_limit ? "limit " : "", user = all + std::to_string(job.owner.uid);
  return {all, user, user + " " + printable(program_of_job(job))};
}

BelievedTime LearnedTimes::believed(const JobRecord& job, Time usual) const {
  const auto told = job.work.told > Time{0} ? std::optional(log_of(seconds(job.work.told))) : std::nullopt;
  return times_.believe(groups_of(job), told, log_of(seconds(usual)));
}

void LearnedTimes::believe(JobRecord& job, Time usual) const {
  const BelievedTime time = believed(job, usual);
  job.work.estimate = std::max(Time{1}, from_seconds(std::min(kMaxSeconds, deterministic_exp(time.log_median))));
  job.work.spread = time.spread * widening(job);
}

void LearnedTimes::learn(const JobRecord& job, const Belief& belief, const Cluster& cluster, double ran_s, double load,
                         bool cut) {
  const JobId row = belief.row(job.id);
  if (row == kNoJob || cluster.state(row).type == kNoType || job.work.remaining < 1) return;
  const JobTable& table = *belief.table();
  const double planned_s = seconds(table.work(row, cluster.state(row).type)) * table.job(row).crowding.factor(load);
  if (planned_s <= 0 || job.work.estimate <= Time{0}) return;
  const double took = log_of(seconds(job.work.estimate)) + log_of(ran_s) - log_of(planned_s);
  const auto told = job.work.told > Time{0} ? std::optional(log_of(seconds(job.work.told))) : std::nullopt;
  const auto groups = groups_of(job);
  if (cut) return times_.learn_cut(groups, told, took);
  times_.learn(groups, told, took);
  if (job.work.spread > 0) check(job, log_of(ran_s) - log_of(planned_s));
}

double LearnedTimes::widening(const JobRecord& job) const {
  double square = 1;
  for (const std::string& group : checked_groups(job))
    if (const auto at = off_.find(group); at != off_.end())
      square = (kRuns * square + at->second.squares) / (kRuns + at->second.runs);
  return std::sqrt(square);
}

// `took`: over what was believed, in logarithms.
void LearnedTimes::check(const JobRecord& job, double took) {
  const double off = took / (job.work.spread / widening(job));
  for (const std::string& group : checked_groups(job)) {
    if (off_.size() >= kMostChecked && !off_.contains(group)) continue;
    Off& seen = off_[group];
    if (seen.runs >= kMostRuns) {
      seen.squares *= (kMostRuns - 1) / seen.runs;
      seen.runs = kMostRuns - 1;
    }
    seen.runs += 1;
    seen.squares += std::min(kMostSquare, off * off);
  }
}

}  // namespace smartmig
