#include "report/recorded_world.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "report/journal.h"
#include "report/journal_runs.h"
#include "report/summary_text.h"
#include "report/timeline.h"
#include "report/world_json.h"

namespace smartmig {
namespace {

constexpr std::size_t kMostPoints = 5000;

// The run's start in Unix seconds, from its header; nothing for a simulation.
std::optional<double> began_at(const RunRecord& run) { return parse_double(run.config_value("began_at")); }

// Writes at most kMostPoints. Joules are cumulative, so the mean watts between two points are exact, however many
// points are omitted.
void put_points(Json& points, const Timeline& line, double offset) {
  const std::size_t every = line.fleet.size() / kMostPoints + 1;
  for (std::size_t i = 0; i < line.fleet.size(); ++i) {
    const FleetStep& step = line.fleet[i];
    if (i % every != 0 && i + 1 != line.fleet.size()) continue;
    points.push_back({offset + seconds(step.at), step.joules, step.queued, step.running});
  }
}

struct RawRun {
  std::string text;  // with its notes
};
Result<std::vector<RawRun>> raw_runs(LineReader lines) {
  std::vector<RawRun> runs;
  for (;;) {
    SMARTMIG_TRY(const auto line, lines.next());
    if (!line) break;
    if (runs.empty() || line->starts_with("{\"smartmig_journal\"")) runs.emplace_back();
    runs.back().text.append(*line).push_back('\n');
  }
  return runs;
}

Json world_of(const RunRecord& run, const std::optional<double>& began, const std::string& path) {
  Json out = world_json(*run.platform);
  out["kind"] = "recorded";
  out["version"] = run.version;
  out["title"] = path;
  out["policy"] = run.config_value("policy");
  out["workload"] = run.jobs->workload().source;
  out["platform"] = run.platform->spec();
  out["signed_in"] = out["operator"] = false;
  out["user"] = "";
  out["began_at"] = began ? Json(*began) : Json();
  out["journal_run"] = 0;
  out["journal_position"] = 0;
  out["now_at"] = Json();
  return out;
}

}  // namespace

Result<RecordedWorld> recorded_world(const std::string& path, const RecordedOptions& options) {
  SMARTMIG_TRY(auto lines, LineReader::open(path));
  SMARTMIG_TRY(auto again, LineReader::open(path));
  SMARTMIG_TRY(const auto runs, read_journal_runs(std::move(lines)));
  SMARTMIG_TRY(const auto raw, raw_runs(std::move(again)));
  if (options.run > runs.size())
    return invalid("run {}: {} has {} run{}", options.run, path, runs.size(), runs.size() == 1 ? "" : "s");
  // Several runs share a time axis if each has its start time, and a page if their fleets are equal.
  const auto dated = [](const RawRun& run) { return run.text.find("[\"began_at\",") < run.text.find('\n'); };
  const bool all = options.run == 0 && std::all_of(raw.begin(), raw.end(), dated);
  const std::size_t last = options.run == 0 ? runs.size() - 1 : options.run - 1;
  RecordedWorld out;
  Json points = Json::array(), joules = Json::object();
  double idle = 0;
  std::string fleet;
  for (std::size_t i = all ? 0 : last; i <= last; ++i) {
    const std::string name = runs.size() == 1 ? path : fmt::format("{}, run {}", path, i + 1);
    SMARTMIG_TRY(const auto run, replay_journal(LineReader::over(name, runs[i].text)));
    const RunRecord& record = run->record;
    if (!fleet.empty() && fleet != record.platform->spec()) {  // another fleet: start a new axis
      out.journal.clear();
      points = Json::array();
      joules = Json::object();
    }
    fleet = record.platform->spec();
    const auto began = began_at(record);
    const Timeline line = timeline_of(record);
    put_points(points, line, began.value_or(0));
    idle = line.idle_watts;
    const auto& measured = runs[i].joules;
    for (std::size_t j = 0; j < record.jobs->size(); ++j) {
      const std::string job = record.jobs->workload().name_of(j);
      const JobState& state = record.final->states()[j];
      if (const auto at = measured.find(job); at != measured.end())
        joules[job] = at->second;
      else if (state.first_start >= Time{0})
        joules[job] = state.joules;
    }
    out.journal += raw[i].text;
    if (i != last) continue;
    out.world = json_dump(world_of(record, began, path));
    Json summary = Json::parse(summary_json(record.summary));
    summary["energy_bound_kwh"] = summary["et_bound"] = Json();
    if (options.bounds) {
      SMARTMIG_TRY(const ReportExtras extras, options.bounds(record));
      if (extras.energy_bound_kwh) summary["energy_bound_kwh"] = *extras.energy_bound_kwh;
      if (extras.et_bound) summary["et_bound"] = *extras.et_bound;
    }
    out.summary = json_dump(summary);
  }
  const Json series = {{"idle_w", idle}, {"points", std::move(points)}, {"joules", std::move(joules)}};
  out.series = json_dump(series);
  return out;
}

}  // namespace smartmig
