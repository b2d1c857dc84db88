// smartmig calibrate: speeds and watts fitted to what jobs took, with the error before and after.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/json.h"
#include "cli/queue/daemon_options.h"
#include "cli/row_file.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "eval/calibration.h"

namespace smartmig::cli {
namespace {

double start_of(const Json& job) { return number_at(job, "started_at").value_or(0); }
double end_of(const Json& job) { return number_at(job, "ended_at").value_or(0); }

// How many jobs ran on a board, as the integral of 1 / that over time: the share of a job that ran from a to b is the
// mean of 1 / n, n counting itself.
class BoardShare {
 public:
  void add(double begin, double end) {
    if (end <= begin) return;
    changes_.emplace_back(begin, 1);
    changes_.emplace_back(end, -1);
  }
  void integrate() {
    std::sort(changes_.begin(), changes_.end());
    int running = 0;
    for (const auto& [at, change] : changes_) {
      if (!at_.empty() && running > 0)
        sum_.push_back(sum_.back() + (at - at_.back()) / running);
      else
        sum_.push_back(sum_.empty() ? 0 : sum_.back());
      at_.push_back(at);
      running += change;
    }
  }
  double share(double begin, double end) const {
    if (end <= begin) return 1;
    const auto until = [&](double t) {
      return sum_[std::size_t(std::lower_bound(at_.begin(), at_.end(), t) - at_.begin())];
    };
    return std::clamp((until(end) - until(begin)) / (end - begin), 0.0, 1.0);  // both are among the changes
  }

 private:
  std::vector<std::pair<double, int>> changes_;
  std::vector<double> at_, sum_;
};

// Jobs that ran once, to a good end. Those of the same command are taken to have done the same work.
Result<std::vector<MeasuredRun>> runs_of_daemon(DaemonClient& client, std::size_t& passed_over) {
  SMARTMIG_TRY(const Json answer, client.get("/v1/gpus"));
  std::map<int, std::string> models;
  for (const Json& board : list_at(answer, "gpus"))
    models[int(number_at(board, "index").value_or(-1))] = text_at(board, "model");
  SMARTMIG_TRY(const Json jobs, all_jobs(client, "state=done"));
  std::map<int, BoardShare> boards;
  const auto board_of = [](const Json& job) { return int(number_at(job, "gpu").value_or(-1)); };
  for (const Json& job : jobs) boards[board_of(job)].add(start_of(job), end_of(job));
  for (auto& [gpu, board] : boards) board.integrate();
  std::vector<MeasuredRun> runs;
  for (const Json& job : jobs) {
    MeasuredRun run;
    const Json& command = list_at(job, "command");
    run.kind = text_at(job, "kind");
    if (run.kind.empty() && !command.empty() && command[0].is_string())
      run.kind = std::filesystem::path(command[0].get<std::string>()).filename().string();
    const auto model = models.find(board_of(job));
    const std::string slice = text_at(job, "slice");
    run.profile = slice.substr(0, slice.find('@'));
    run.seconds = end_of(job) - start_of(job);
    if (run.kind.empty() || model == models.end() || run.profile.empty() || run.seconds < 1e-3 ||
        number_at(job, "attempt").value_or(1) > 1) {
      ++passed_over;
      continue;
    }
    run.gpu = model->second;
    run.task = json_dump(command);
    run.joules = job_joules(job).value_or(-1);
    if (const auto peak = number_at(job, "peak_mib"); peak && *peak > 0) run.mem_mib = int(*peak);
    run.share = boards[board_of(job)].share(start_of(job), end_of(job));
    runs.push_back(std::move(run));
  }
  return runs;
}

Json calibration_json(const ErrorFigures& e) { return {{"runs", e.runs}, {"mean", e.mean}, {"p90", e.p90}}; }

Json calibration_json(const Calibration& c) {
  Json kinds = Json::array();
  for (const KindFit& kind : c.kinds) {
    Json profiles = Json::array();
    const auto known = [](double value) { return value < 0 ? Json() : Json(value); };
    for (const ProfileFit& row : kind.profiles)
      profiles.push_back({{"profile", row.profile},
                          {"runs", row.runs},
                          {"speed", row.speed},
                          {"table_speed", known(row.table_speed)},
                          {"active_w", known(row.watts)},
                          {"table_active_w", known(row.table_watts)}});
    kinds.push_back({{"kind", kind.kind},
                     {"gpu", kind.gpu},
                     {"launch_s", kind.launch_known ? Json(kind.launch_s) : Json()},
                     {"mem_mib", kind.mem_mib < 0 ? Json() : Json(kind.mem_mib)},
                     {"profiles", profiles}});
  }
  return {
      {"kinds", kinds},
      {"time_error", {{"before", calibration_json(c.time_before)}, {"after", calibration_json(c.time_after)}}},
      {"energy_error", {{"before", calibration_json(c.energy_before)}, {"after", calibration_json(c.energy_after)}}},
      {"notes", c.notes}};
}

void print_text(const Calibration& c) {
  Table table({"kind", "gpu", "profile", "runs", "speed", "table", "W above idle", "table", "launch s"});
  const auto known = [](double value, int digits) { return value < 0 ? "-" : fmt::format("{:.{}f}", value, digits); };
  for (const KindFit& kind : c.kinds)
    for (const ProfileFit& row : kind.profiles)
      table.add({kind.kind, kind.gpu, row.profile, fmt::format("{}", row.runs), fmt::format("{:.3f}", row.speed),
                 known(row.table_speed, 3), known(row.watts, 1), known(row.table_watts, 1),
                 kind.launch_known ? fmt::format("{:.2f}", kind.launch_s) : "-"});
  fmt::print("{}", table.text());
  for (const std::string& note : c.notes) fmt::print("{}\n", note);
  fmt::print("\nerror of each run predicted from the others, |predicted - measured| / measured\n\n");
  Table errors({"", "runs", "mean before", "p90", "mean after", "p90"});
  const auto add = [&](const char* label, const ErrorFigures& before, const ErrorFigures& after) {
    if (before.runs == 0) return errors.add({label, "0", "-", "-", "-", "-"});
    errors.add({label, fmt::format("{}", before.runs), fmt::format("{:.1f} %", 100 * before.mean),
                fmt::format("{:.1f} %", 100 * before.p90), fmt::format("{:.1f} %", 100 * after.mean),
                fmt::format("{:.1f} %", 100 * after.p90)});
  };
  add("time", c.time_before, c.time_after);
  add("energy", c.energy_before, c.energy_after);
  fmt::print("{}", errors.text());
}

}  // namespace

int run_calibrate(const Arguments& arguments) {
  DaemonOptions options;
  std::string runs_file, kind, output, watts_file, power = "auto", source = "fitted by smartmig calibrate";
  Command cmd(
      "lab calibrate", "",
      "Fits the speed on each slice size, the launch time and the power of each kind of job to finished jobs. It reports the prediction errors before and after the fit; each run is predicted from the others. The runs come from the daemon (runs of one command count as the same work), or from a table with the columns kind, gpu, profile, seconds and, if known, joules, work, task, mem_mib and share.",
      "smartmig lab calibrate --runs runs.csv --power a100-jobs -o speeds.csv --watts watts.csv");
  cmd.option("--runs", runs_file, "FILE", "table of runs, instead of the daemon's jobs; - is standard input");
  cmd.option("--kind", kind, "NAME", "fit only this kind");
  cmd.option("--output", output, "FILE", "write speed rows to this file; they replace rows of the same kind and GPU")
      .alias("-o")
      .also("--output-file");
  cmd.option("--watts", watts_file, "FILE", "write power rows to this file");
  cmd.option("--power", power, "MODEL", "power model to compare the power with and to write power rows for");
  cmd.option("--source", source, "TEXT", "text for the column source");
  options.declare(cmd);
  if (const auto end = cmd.ends(arguments)) return *end;

  std::vector<MeasuredRun> runs;
  std::size_t passed_over = 0;
  if (!runs_file.empty()) {
    auto lines = LineReader::open(runs_file);
    if (!lines) return failure(lines.error());
    auto read = read_measured_runs(std::move(*lines));
    if (!read) return failure(read.error());
    runs = std::move(*read);
  } else {
    auto client = options.connect();
    if (!client) return failure(client.error());
    auto read = runs_of_daemon(*client, passed_over);
    if (!read) return failure(read.error());
    runs = std::move(*read);
  }
  if (!kind.empty()) std::erase_if(runs, [&](const MeasuredRun& run) { return run.kind != kind; });
  if (runs.empty())
    return failure(invalid("there are no runs to fit to{}; smartmig profile creates some",
                           kind.empty() ? "" : " of kind " + kind));
  const auto fit = calibrate(runs, power);
  if (!fit) return failure(fit.error());
  if (!output.empty())
    if (const auto written = put_rows(output, speed_rows(*fit, source), {"kind", "gpu"}); !written)
      return failure(written.error());
  if (!watts_file.empty()) {
    const auto rows = power_rows(*fit, power, source);
    if (!rows) return failure(rows.error());
    if (const auto written = put_rows(watts_file, *rows, {"model", "kind", "profile"}); !written)
      return failure(written.error());
  }
  if (options.json) {
    Json out = calibration_json(*fit);
    out["runs"] = runs.size();
    out["passed_over"] = passed_over;
    print_json(out);
    return 0;
  }
  fmt::print("{} runs{}\n\n", runs.size(),
             passed_over ? fmt::format(", {} jobs left out because they started more than once or their GPU is gone",
                                       passed_over)
                         : "");
  print_text(*fit);
  return 0;
}

}  // namespace smartmig::cli
