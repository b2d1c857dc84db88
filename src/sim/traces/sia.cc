#include <set>

#include "base/text.h"
#include "sim/traces/trace_readers.h"
#include "sim/traces/trace_rows.h"

namespace smartmig {
namespace {

// Seconds of the whole job on one T4, from github.com/pkusys/ElasticFlow, ElasticFlow/traces_for_ElasticFlow/
// elasticVpollux_e.csv, column duration of the rows with num_gpu 1.
struct Application {
  std::string_view name;
  int batch;
  double seconds;
};
constexpr Application kApplications[] = {
    {"bert", 384, 13950},        {"cifar10", 2048, 4460},     {"cifar10", 4096, 5644},
    {"deepspeech2", 320, 22997}, {"deepspeech2", 640, 28907}, {"imagenet", 3200, 621669},
    {"imagenet", 6400, 707549},  {"ncf", 32768, 32},          {"yolov3", 64, 33276}};

// The row of that batch size, else the application's first.
const Application* application(std::string_view name, std::int64_t batch) {
  const Application* found = nullptr;
  for (const Application& row : kApplications) {
    if (row.name != name) continue;
    if (found == nullptr || row.batch == batch) found = &row;
  }
  return found;
}

}  // namespace

Result<Workload> read_sia(const TraceSource& source, const TraceFormat& format, const LoadOptions& options) {
  SMARTMIG_TRY(const TraceMap map, parse_trace_map(format.map));
  SMARTMIG_TRY(LineReader lines, source.open());
  SMARTMIG_TRY(CsvReader csv, CsvReader::open(std::move(lines), source.dialect));
  const int name = csv.column_in_any_case("application");
  TraceRowHook hook;
  hook.durations = true;
  hook.note =
      "jobs are elastic: num_replicas is not used, and a job is its whole application on one "
      "GPU; durations are those on one T4 in ElasticFlow's elasticVpollux_e.csv";
  hook.row = [name](const CsvReader& row, std::string_view batch, TraceJob& job) -> Result<Ok> {
    const Application* known = application(row.text(name), parse_int(batch).value_or(0));
    if (known == nullptr) {
      std::set<std::string_view> names;
      for (const Application& entry : kApplications) names.insert(entry.name);
      return row.error(
          name, fmt::format("the duration of '{}' is unknown; known are {}", row.text(name), fmt::join(names, ", ")));
    }
    job.duration_s = known->seconds;
    return Ok{};
  };
  return read_trace_rows(std::move(csv), map, options, hook);
}

}  // namespace smartmig
