#include "model/time_estimator.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/json.h"
#include "base/math.h"

namespace smartmig {
namespace {

constexpr double kStranger = 0.7, kNothingTold = 2;  // standard deviations
constexpr double kShortest = 1.7;                    // standard deviations
constexpr double kFarCut = 3;                        // standard deviations: a later cut tells no more
constexpr double kShiftRuns = 1, kSlopeRuns = 2, kNoiseRuns = 3;

constexpr std::size_t kFigures = 6, kLongestGroup = 300;  // limits on a stored group
constexpr double kMostFigure = 1e12, kMostLog = 60, kRounding = 1 + 1e-6, kTiny = 1e-9;

struct Cut {
  double mean, variance;
};

// Of the runs that are longer than `ran`.
Cut beyond(const BelievedTime& believed, double ran) {
  const double z = std::min(kFarCut, (ran - believed.log_median) / believed.spread);
  const double density = deterministic_exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  const double hazard = density / (1 - normal_share_below(z)), spread = believed.spread;
  return {std::max(ran, believed.log_median + spread * hazard),
          spread * spread * std::max(0.0, 1 + z * hazard - hazard * hazard)};
}

}  // namespace

void TimeEstimator::Runs::add(double x, double r, double most) {
  if (n + 1 > most)
    for (double* sum : {&n, &xx, &xr, &rr}) *sum *= (most - 1) / n;
  n += 1;
  const double dx = x - mean_x, dr = r - mean_r;
  mean_x += dx / n;
  mean_r += dr / n;
  xx += dx * (x - mean_x);
  xr += dx * (r - mean_r);
  rr += dr * (r - mean_r);
}

TimeEstimator::Line TimeEstimator::refined(const Line& general, const Runs& runs) {
  Line line;
  line.at = runs.mean_x;
  line.runs = runs.n + kShiftRuns;
  line.xx = runs.xx + kSlopeRuns;
  line.shift = (runs.n * runs.mean_r + kShiftRuns * general.value(runs.mean_x)) / line.runs;
  line.slope = (runs.xr + kSlopeRuns * general.slope) / line.xx;
  const double off = runs.mean_r - line.shift;
  const double residual = runs.rr - 2 * line.slope * runs.xr + line.slope * line.slope * runs.xx + runs.n * off * off;
  line.variance = (kNoiseRuns * general.variance + residual) / (kNoiseRuns + runs.n);
  return line;
}

BelievedTime TimeEstimator::believe(const Groups& ended, const Groups* with_running,
                                    std::span<const std::string> groups, std::optional<double> told, double usual) {
  const double x = told.value_or(kUntold), stranger = told ? kStranger : kNothingTold;
  Line line;
  line.at = x;
  line.variance = stranger * stranger;
  if (!told) line.shift = usual - kUntold;
  bool own = groups.empty();
  for (const std::string& group : groups) {
    const auto found = ended.find(group);
    const auto running = with_running ? with_running->find(group) : ended.end();
    const bool beside = with_running && running != with_running->end();
    own = beside || found != ended.end();
    if (own) line = refined(line, beside ? running->second : found->second);
  }
  double variance = line.variance;
  if (!told && !own) variance = std::max(variance, stranger * stranger);
  if (line.runs > 0) variance *= 1 + 1 / line.runs + (x - line.at) * (x - line.at) / line.xx;
  return {x + line.value(x), std::sqrt(variance)};
}

BelievedTime TimeEstimator::believe(std::span<const std::string> groups, std::optional<double> told,
                                    double usual) const {
  return believe(told ? told_ : untold_, nullptr, groups, told, usual);
}

bool TimeEstimator::knows_enough(std::span<const std::string> groups, bool told) const {
  const Groups& ended = told ? told_ : untold_;
  if (groups.empty()) return false;
  const auto found = ended.find(groups.back());
  return found != ended.end() && found->second.n >= kFewRuns;
}

BelievedTime TimeEstimator::believe(std::span<const std::string> groups, std::optional<double> told, double usual,
                                    std::span<const Running> running) const {
  constexpr int kRounds = 8;
  const Groups& ended = told ? told_ : untold_;
  if (running.empty() || knows_enough(groups, told.has_value())) return believe(groups, told, usual);
  Groups before, with;
  for (int round = 0; round < kRounds; ++round) {
    with.clear();
    for (const Running& one : running) {
      if (one.told.has_value() != told.has_value() || knows_enough(one.groups, told.has_value())) continue;
      const BelievedTime believed = believe(ended, &before, one.groups, one.told, usual);
      const Cut cut = beyond(believed, one.ran);
      const double x = one.told.value_or(kUntold);
      const std::span<const std::string> of(one.groups);
      for (const std::string& group : told ? of.last(1) : of) {
        const auto at = with.find(group);
        Runs& runs = at != with.end() ? at->second : with[group];
        if (at == with.end())
          if (const auto known = ended.find(group); known != ended.end()) runs = known->second;
        runs.add(x, cut.mean - x, bounds_.runs);
        runs.rr += cut.variance;
      }
    }
    std::swap(before, with);
  }
  return believe(ended, &before, groups, told, usual);
}

void TimeEstimator::learn(std::span<const std::string> groups, std::optional<double> told, double took) {
  const double x = told.value_or(kUntold);
  const BelievedTime before = believe(groups, told);
  took = std::max(took, before.log_median - kShortest * before.spread);
  Groups& known = told ? told_ : untold_;
  ++learned_;
  for (const std::string& group : groups) {
    Runs& runs = known[group];
    runs.add(x, took - x, bounds_.runs);
    runs.learned = learned_;
  }
  bound(known);
}

void TimeEstimator::learn_cut(std::span<const std::string> groups, std::optional<double> told, double ran) {
  learn(groups, told, beyond(believe(groups, told), ran).mean);
}

// Drops a quarter at once, so that the search is rare.
void TimeEstimator::bound(Groups& groups) const {
  if (groups.size() <= bounds_.groups) return;
  std::vector<std::uint64_t> learned;
  for (const auto& [group, runs] : groups) learned.push_back(runs.learned);
  const auto cut = learned.begin() + std::ptrdiff_t(groups.size() - bounds_.groups + bounds_.groups / 4);
  if (cut >= learned.end()) return groups.clear();
  std::nth_element(learned.begin(), cut, learned.end());
  std::erase_if(groups, [&](const auto& one) { return one.second.learned < *cut; });
}

std::string TimeEstimator::to_json() const {
  const auto listed = [](const Groups& groups) {
    std::vector<Groups::const_iterator> order;
    for (auto at = groups.begin(); at != groups.end(); ++at) order.push_back(at);
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a->second.learned < b->second.learned; });
    Json out = Json::array();
    for (const auto& at : order) {
      const Runs& runs = at->second;
      out.push_back({at->first, runs.n, runs.mean_x, runs.mean_r, runs.xx, runs.xr, runs.rr});
    }
    return out;
  };
  return json_dump(Json{{"smartmig_times", 1}, {"told", listed(told_)}, {"untold", listed(untold_)}});
}

Result<TimeEstimator> TimeEstimator::parse(const std::string& name, std::string_view text, Bounds bounds) {
  SMARTMIG_TRY(const Json json, parse_json(name, text));
  SMARTMIG_TRY(const JsonObject root, JsonObject::open(json, name, "", {"smartmig_times", "told", "untold"}));
  SMARTMIG_TRY(const std::int64_t version, root.integer("smartmig_times", 0, 1'000'000));
  if (version != 1)
    return invalid("{}: version {} of the learned times is not known, this program reads 1", name, version);
  TimeEstimator out(bounds);
  for (const char* key : {"told", "untold"}) {
    SMARTMIG_TRY(const Json* list, root.list(key));
    Groups& groups = key[0] == 't' ? out.told_ : out.untold_;
    for (const Json& row : *list) {
      if (!row.is_array() || row.size() != 1 + kFigures || !row[0].is_string())
        return root.error(key, fmt::format("has an invalid group (not {} figures)", kFigures));
      const std::string group = row[0].get<std::string>();
      if (group.size() > kLongestGroup) return root.error(key, "has a group with too long a name");
      double x[kFigures];
      for (std::size_t i = 0; i < kFigures; ++i) {
        const double low = i == 0 ? 1 : i == 3 || i == 5 ? 0 : -kMostFigure;
        if (!row[i + 1].is_number() || !(row[i + 1].get<double>() >= low && row[i + 1].get<double>() <= kMostFigure))
          return root.error(key, fmt::format("holds a figure of group '{}' that cannot be", group));
        x[i] = row[i + 1].get<double>();
      }
      if (std::abs(x[1]) > kMostLog || std::abs(x[2]) > kMostLog || x[4] * x[4] > x[3] * x[5] * kRounding + kTiny)
        return root.error(key, fmt::format("holds figures of group '{}' that cannot be together", group));
      if (!groups.insert({group, Runs{x[0], x[1], x[2], x[3], x[4], x[5], ++out.learned_}}).second)
        return root.error(key, fmt::format("has group '{}' twice", group));
    }
    out.bound(groups);
  }
  return out;
}

}  // namespace smartmig
