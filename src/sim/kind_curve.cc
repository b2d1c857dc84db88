#include "sim/kind_curve.h"

#include "base/csv.h"
#include "base/embedded.h"
#include "base/text.h"

namespace smartmig {
namespace {

struct RestartRow {
  std::string model, phase;
  Time restart;
};

Result<std::vector<RestartRow>> read_restarts(LineReader lines) {
  SMARTMIG_TRY(CsvReader csv, CsvReader::open(std::move(lines)));
  SMARTMIG_TRY(const int model, csv.require("model"));
  SMARTMIG_TRY(const int phase, csv.require("phase"));
  SMARTMIG_TRY(const int restart, csv.require("restart_s"));
  std::vector<RestartRow> rows;
  for (;;) {
    SMARTMIG_TRY(const bool more, csv.next());
    if (!more) return rows;
    SMARTMIG_TRY(const double s, csv.number(restart));
    rows.push_back({std::string(csv.text(model)), std::string(csv.text(phase)), from_seconds(s)});
  }
}

}  // namespace

KindName split_kind(std::string_view kind) {
  const auto parts = split(kind, '-');
  KindName name{std::string(parts[0]), {}, {}};
  if (parts.size() > 1 && (parts[1] == "train" || parts[1] == "infer" || parts[1] == "decode"))
    name.phase = parts[1] == "train" ? "train" : "infer";
  if (!name.phase.empty() && parts.size() > 2) name.batch = std::string(parts[2]);
  return name;
}

void KindCurve::set_work(Job& job, int size, double s) const {
  const double launch = s > launch_s ? launch_s : 0;  // shorter than its launch: not a usual run
  const double work = (s - launch) * throughput[std::size_t(size - 1)];
  for (std::size_t k = 0; k < throughput.size(); ++k)
    job.work[k] = throughput[k] > 0 ? from_seconds(launch + work / throughput[k]) : kCannotRun;
  job.work[std::size_t(size - 1)] = from_seconds(s);
}

KindCurve curve_of(const std::string& kind, std::string_view gpu, const SpeedTable& table) {
  KindCurve curve;
  curve.kind = kind;
  for (const SpeedTable::Row& row : table.rows()) {
    if (row.kind != kind || row.gpu != gpu) continue;
    const auto slices = parse_int(std::string_view(row.profile).substr(0, row.profile.find('g')));
    SMARTMIG_CHECK(slices && *slices >= 1 && *slices <= kMaxComputeSlices, "profile {} of the speed table has no size",
                   row.profile);
    double& throughput = curve.throughput[std::size_t(*slices - 1)];
    if (throughput == 0) throughput = row.throughput;
    curve.largest = std::max(curve.largest, int(*slices));
    curve.mem_mib = std::max(curve.mem_mib, row.mem_mib);
  }
  SMARTMIG_CHECK(curve.largest > 0, "no speeds of {} on {}", kind, gpu);
  curve.launch_s = table.launch_s(kind, gpu);
  curve.restart = restart_of(kind);
  return curve;
}

Time restart_of(std::string_view kind) {
  static const std::vector<RestartRow> rows =
      std::move(read_restarts(LineReader::over("data/restart.csv", embedded_file("restart.csv"))).value());
  const KindName name = split_kind(kind);
  for (const RestartRow& row : rows)
    if (row.phase == name.phase && (row.model == name.model || row.model == "*")) return row.restart;
  return Time{-1};
}

Time whole_gpu_work(const Job& job) {
  for (std::size_t k = job.work.size(); k-- > 0;)
    if (job.work[k] != kCannotRun) return job.work[k];
  SMARTMIG_CHECK(false, "a job that runs on no slice size");
}

}  // namespace smartmig
