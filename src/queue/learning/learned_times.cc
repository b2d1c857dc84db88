#include "queue/learning/learned_times.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/math.h"
#include "base/printable.h"
#include "queue/learning/command_key.h"

namespace smartmig {
namespace {

constexpr double kLeastSeconds = 1e-3;
constexpr double kRuns = 20, kMostRuns = 400, kMostLog = 3;
constexpr double kHolds = 0.8, kHeldWithin = 1.2816;  // standard deviations on either side
constexpr double kWidthStep = 1.1;            // of a width's logarithm, times its surprise; two groups take part
constexpr double kShiftStep = 0.6;            // standard deviations, likewise
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
  Json checked = Json::array();
  for (const auto& [group, off] : off_) checked.push_back({group, off.runs, off.shift, off.log_width});
  Json out = Json::parse(times_.to_json());
  out["checked"] = std::move(checked);
  return json_dump(out);
}

Result<LearnedTimes> LearnedTimes::parse(const std::string& name, std::string_view text) {
  LearnedTimes out;
  SMARTMIG_TRY(Json json, parse_json(name, text));
  if (!json.is_object()) return invalid("{}: is not an object", name);
  const Json checked = json.contains("checked") ? json["checked"] : Json::array();
  json.erase("checked");
  json.erase("off");  // of before: squares of errors
  SMARTMIG_TRY(out.times_, TimeEstimator::parse(name, json_dump(json), kBounds));
  const bool listed = checked.is_array() && checked.size() <= kMostChecked;
  for (const Json& row : listed ? checked : Json::array({Json()})) {
    const bool good = row.is_array() && row.size() == 4 && row[0].is_string() && row[1].is_number() &&
                      row[2].is_number() && row[3].is_number();
    const Off off = good ? Off{row[1].get<double>(), row[2].get<double>(), row[3].get<double>()} : Off{-1};
    if (!(off.runs >= 0 && off.runs <= kMostRuns && std::abs(off.shift) <= kMostLog &&
          std::abs(off.log_width) <= kMostLog))
      return invalid("{}: checked holds what is no group with its runs, shift and width", name);
    if (!out.off_.insert({row[0].get<std::string>(), off}).second)
      return invalid("{}: checked has group '{}' twice", name, row[0].get<std::string>());
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
  const BelievedTime time = checked(job, believed(job, usual));
  job.work.estimate = std::max(Time{1}, from_seconds(std::min(kMaxSeconds, deterministic_exp(time.log_median))));
  job.work.spread = time.spread;
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

BelievedTime LearnedTimes::checked(const JobRecord& job, BelievedTime claimed) const {
  double log_width = 0;
  for (const std::string& group : checked_groups(job))
    if (const auto at = off_.find(group); at != off_.end()) {
      claimed.log_median += at->second.shift;
      log_width += at->second.log_width;
    }
  claimed.spread *= deterministic_exp(log_width);
  return claimed;
}

// `took`: over what was believed, in logarithms. Of the general group and the special one each learns what the other
// leaves.
void LearnedTimes::check(const JobRecord& job, double took) {
  const double surprise = std::abs(took) > kHeldWithin * job.work.spread ? kHolds : kHolds - 1;
  const double move = std::copysign(kShiftStep * job.work.spread, took);
  for (const std::string& group : checked_groups(job)) {
    if (off_.size() >= kMostChecked && !off_.contains(group)) continue;
    Off& off = off_[group];
    off.log_width = std::clamp(off.log_width + kWidthStep * surprise / (kRuns + off.runs), -kMostLog, kMostLog);
    off.shift = std::clamp(off.shift + move / (kRuns + off.runs), -kMostLog, kMostLog);
    off.runs = std::min(kMostRuns, off.runs + 1);
  }
}

}  // namespace smartmig
