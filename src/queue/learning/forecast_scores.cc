#include "queue/learning/forecast_scores.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/math.h"

namespace smartmig {
namespace {

constexpr double kMiss = 10;              // 2 / the share of cases that lie outside
constexpr double kLeast = 1;              // seconds: below it nothing is off
constexpr double kMostKeptFigure = 1e13;  // of what is stored
constexpr std::size_t kOutcomeFigures = 4, kGivenFigures = 8;

Json forecast_json(const ForecastScores::Forecast& f) { return {f.low, f.median, f.high}; }

// Figures from `from` on. False: they are none.
bool read_figures(const Json& row, std::size_t count, double* out) {
  if (!row.is_array() || row.size() != count) return false;
  for (std::size_t i = 0; i < count; ++i) {
    if (!row[i].is_number() || !(std::abs(row[i].get<double>()) <= kMostKeptFigure)) return false;
    out[i] = row[i].get<double>();
  }
  return true;
}

bool in_order(const ForecastScores::Forecast& f) { return f.low <= f.median && f.median <= f.high; }

}  // namespace

const char* ForecastScores::name_of(Kind kind) {
  static const char* const names[] = {"run", "start", "end"};
  return names[kind];
}

void ForecastScores::happened(Kind kind, const Forecast& forecast, double took_s) {
  auto& outcomes = outcomes_[std::size_t(kind)];
  outcomes.push_back({forecast, took_s});
  if (outcomes.size() > kKept) outcomes.pop_front();
}

void ForecastScores::gave(QueueId job, const Given& forecast) {
  if (given_.size() == kPending && !given_.contains(job)) given_.erase(given_.begin());  // the oldest job
  given_.emplace(job, forecast);
}

void ForecastScores::ended_well(const JobRecord& job) {
  const auto at = given_.find(job.id);
  if (at == given_.end()) return;
  const Given& given = at->second;
  if (given.start && job.times.first_started != kNotYet)
    happened(kStart, *given.start, unix_seconds(job.times.first_started) - given.at);
  happened(kEnd, given.end, unix_seconds(job.times.ended) - given.at);
  given_.erase(at);
}

ForecastScores::Figures ForecastScores::figures(Kind kind) const {
  Figures out;
  double off = 0;
  for (const auto& [f, took] : outcomes_[std::size_t(kind)]) {
    ++out.count;
    out.held += f.low <= took && took <= f.high;
    out.width_s += f.high - f.low;
    out.score_s += f.high - f.low + kMiss * (std::max(0.0, f.low - took) + std::max(0.0, took - f.high));
    off += std::abs(deterministic_log(std::max(kLeast, took) / std::max(kLeast, f.median)));
  }
  if (out.count == 0) return out;
  for (double* sum : {&out.held, &out.width_s, &out.score_s}) *sum /= double(out.count);
  out.off = deterministic_exp(off / double(out.count));
  return out;
}

std::string ForecastScores::to_json() const {
  Json out = {{"smartmig_forecasts", 1}, {"given", Json::array()}};
  for (int kind = 0; kind < kKinds; ++kind) {
    Json list = Json::array();
    for (const auto& [f, took] : outcomes_[std::size_t(kind)]) list.push_back({f.low, f.median, f.high, took});
    out[name_of(Kind(kind))] = std::move(list);
  }
  for (const auto& [id, given] : given_) {
    Json row = {number(id), given.at};
    const Forecast none{-1, -1, -1};
    for (const Forecast& f : {given.start.value_or(none), given.end})
      for (const Json& x : forecast_json(f)) row.push_back(x);
    out["given"].push_back(std::move(row));
  }
  return json_dump(out);
}

Result<ForecastScores> ForecastScores::parse(const std::string& name, std::string_view text) {
  SMARTMIG_TRY(const Json json, parse_json(name, text));
  SMARTMIG_TRY(const JsonObject root,
               JsonObject::open(json, name, "", {"smartmig_forecasts", "given", "run", "start", "end"}));
  SMARTMIG_TRY(const std::int64_t version, root.integer("smartmig_forecasts", 0, 1'000'000));
  if (version != 1)
    return invalid("{}: the saved forecasts have version {}, but this program reads only version 1", name, version);
  ForecastScores out;
  for (int kind = 0; kind < kKinds; ++kind) {
    SMARTMIG_TRY(const Json* list, root.list(name_of(Kind(kind))));
    if (list->size() > kKept) return root.error(name_of(Kind(kind)), "is too long");
    for (const Json& row : *list) {
      double x[kOutcomeFigures];
      if (!read_figures(row, kOutcomeFigures, x) || !in_order({x[0], x[1], x[2]}))
        return root.error(name_of(Kind(kind)), "has an invalid forecast");
      out.happened(Kind(kind), {x[0], x[1], x[2]}, x[3]);
    }
  }
  SMARTMIG_TRY(const Json* list, root.list("given"));
  if (list->size() > kPending) return root.error("given", "is too long");
  for (const Json& row : *list) {
    double x[kGivenFigures];
    if (!read_figures(row, kGivenFigures, x) || !(x[0] >= 1) || !in_order({x[5], x[6], x[7]}) ||
        !in_order({x[2], x[3], x[4]}))
      return root.error("given", "has an invalid forecast");
    Given given{x[1], {}, {x[5], x[6], x[7]}};
    if (x[2] >= 0) given.start = Forecast{x[2], x[3], x[4]};
    out.given_.emplace(QueueId(std::uint64_t(x[0])), given);
  }
  return out;
}

}  // namespace smartmig
