#include <cmath>
#include <filesystem>
#include <map>

#include "base/json.h"
#include "base/text.h"
#include "sim/traces/trace_readers.h"
#include "sim/traces/trace_rows.h"

namespace smartmig {
namespace {

const std::vector<std::string>* gavel_header(std::size_t fields) {
  static const std::vector<std::string> nine = {"job_type",        "command",     "num_steps_arg",
                                                "needs_data_dir",  "total_steps", "scale_factor",
                                                "priority_weight", "SLO",         "arrival_time"},
                                        seven = {"job_type",    "command",      "num_steps_arg", "needs_data_dir",
                                                 "total_steps", "arrival_time", "scale_factor"},
                                        six = {"job_type",    "command",      "num_steps_arg",
                                               "total_steps", "arrival_time", "scale_factor"};
  return fields == 9 ? &nine : fields == 7 ? &seven : fields == 6 ? &six : nullptr;
}

// Steps per second of each model alone on one GPU of a worker type. Keys are "ResNet-18 (batch size 16)", or
// "('ResNet-18 (batch size 16)', 1)" with the number of GPUs. The value "null" holds the figure for a model that runs
// alone.
Result<std::map<std::string, double, std::less<>>> read_throughputs(const std::string& name, std::string_view text,
                                                                    const std::string& worker) {
  SMARTMIG_TRY(const Json root, parse_json(name, text));
  if (!root.is_object() || !root.contains(worker) || !root[worker].is_object()) {
    std::vector<std::string> workers;
    if (root.is_object())
      for (const auto& entry : root.items()) workers.push_back(entry.key());
    return invalid("{} has no throughputs of worker '{}': it has {}", name, worker, fmt::join(workers, ", "));
  }
  std::map<std::string, double, std::less<>> out;
  for (const auto& [key, value] : root[worker].items()) {
    std::string model = key;
    if (model.starts_with("('")) {
      const auto close = model.rfind("', ");
      if (close == model.npos || model.substr(close) != "', 1)") continue;  // several GPUs
      model = model.substr(2, close - 2);
    }
    const Json* alone = value.is_object() && value.contains("null") ? &value["null"] : nullptr;
    if (alone == nullptr || !alone->is_number()) continue;
    const double steps = alone->get<double>();
    if (std::isfinite(steps) && steps > 0) out[model] = steps;
  }
  if (out.empty()) return invalid("{}: worker '{}' has no model with a throughput alone on one GPU", name, worker);
  return out;
}

}  // namespace

bool looks_like_gavel(const std::vector<std::string_view>& fields, char delimiter) {
  const auto* header = delimiter == '\t' ? gavel_header(fields.size()) : nullptr;
  if (header == nullptr) return false;
  for (std::size_t f = 0; f < fields.size(); ++f)
    if (((*header)[f] == "total_steps" || (*header)[f] == "arrival_time") && !parse_double(trim(fields[f])))
      return false;
  return true;
}

Result<Workload> read_gavel_rows(const TraceSource& source, const std::string& throughputs_name,
                                 std::string_view throughputs, const std::string& worker, const LoadOptions& options) {
  SMARTMIG_TRY(const auto speeds, read_throughputs(throughputs_name, throughputs, worker));
  SMARTMIG_TRY(LineReader peek, source.open());
  std::size_t fields = 0;
  while (fields == 0) {
    SMARTMIG_TRY(auto line, peek.next());
    if (!line) return invalid("{} is empty", source.name);
    if (!trim(*line).empty()) fields = split(trim(*line), '\t').size();
  }
  const auto* header = gavel_header(fields);
  if (header == nullptr)
    return invalid("{} line {}: {} fields between tabs where Gavel has 9, 7 or 6", source.name, peek.line(), fields);
  SMARTMIG_TRY(LineReader lines, source.open());
  SMARTMIG_TRY(CsvReader csv, CsvReader::open(std::move(lines), {'\t', *header}));
  SMARTMIG_TRY(const TraceMap map, parse_trace_map(std::string("submit=arrival_time:s,gpus=scale_factor,kind=job_type,"
                                                               "class=@training") +
                                                   (fields == 9 ? ",slo=SLO" : "")));
  const int type = csv.column("job_type"), steps = csv.column("total_steps");
  TraceRowHook hook;
  hook.durations = true;
  hook.note = fmt::format("durations are total_steps / the steps per second of the model alone on one {} in {}", worker,
                          throughputs_name);
  hook.row = [&speeds, &worker, type, steps](const CsvReader& row, std::string_view, TraceJob& job) -> Result<Ok> {
    SMARTMIG_TRY(const double total, row.number(steps));
    const auto found = speeds.find(row.text(type));
    if (found == speeds.end()) {
      if (job.gpus > 1) return Ok{};  // dropped later
      return row.error(type, fmt::format("no throughput of '{}' on worker '{}' is given", row.text(type), worker));
    }
    const double s = total / found->second;
    if (s > kMaxSeconds) return row.error(steps, "more than 1e10 s at this throughput");
    job.duration_s = s;
    return Ok{};
  };
  return read_trace_rows(std::move(csv), map, options, hook);
}

Result<Workload> read_gavel(const TraceSource& source, const TraceFormat&, const LoadOptions& options) {
  if (options.throughputs.empty())
    return invalid(
        "{} is a Gavel trace, which has steps instead of durations; give Gavel's file of steps "
        "per second: --throughputs simulation_throughputs.json[:WORKER] (default worker: v100)",
        source.name);
  std::string file = options.throughputs, worker = "v100";
  std::error_code ignored;
  if (const auto colon = file.rfind(':'); colon != file.npos && !std::filesystem::exists(file, ignored)) {
    worker = file.substr(colon + 1);
    file.resize(colon);
  }
  SMARTMIG_TRY(const std::string text, read_file(file));
  return read_gavel_rows(source, file, text, worker, options);
}

}  // namespace smartmig
