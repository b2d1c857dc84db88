// The door of workload_spec.h: what is it, then the reader for it.
#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "mig/catalog.h"
#include "sim/batsim_json.h"
#include "sim/job_csv.h"
#include "sim/sacct.h"
#include "sim/swf.h"
#include "sim/trace_csv.h"
#include "sim/workload_spec.h"

namespace smartmig {
namespace {

enum class Format { kJobCsv, kTraceCsv, kBatsimJson, kSwf, kSacct };

Result<Format> recognise(LineReader lines) {
  const std::string file = lines.name();
  for (;;) {
    SMARTMIG_TRY(const auto line, lines.next());
    if (!line) return invalid("{} is empty: a workload file has a header line, a JSON object or SWF lines", file);
    const std::string_view text = trim(*line);
    if (text.empty() || text[0] == '#') continue;
    if (text[0] == '{' || text[0] == '[') return Format::kBatsimJson;
    if (text[0] == ';' || lower(file).ends_with(".swf") || lower(file).ends_with(".swf.gz")) return Format::kSwf;
    if (is_sacct_header(text)) return Format::kSacct;
    for (const std::string_view column : split(text, ',')) {
      if (trim(column) == "submit_time_s") return Format::kTraceCsv;
      if (trim(column) == "submit_s" || trim(column) == "work_1g_s") return Format::kJobCsv;
    }
    return invalid(
        "{} line {} starts no known workload format: neither the columns of a job CSV (job_id,submit_s,...) or of a "
        "trace "
        "(submit_time_s,duration_s,...), nor Batsim JSON, nor SWF, nor what sacct -P prints",
        file, lines.line());
  }
}

Result<Workload> load_as_given(const std::string& spec_or_file, const LoadOptions& options) {
  if (is_workload_spec(spec_or_file)) {
    SMARTMIG_TRY(WorkloadSpec spec, parse_workload_spec(spec_or_file));
    if (options.seed) spec.seed = *options.seed;
    if (options.slack) spec.slack = *options.slack;
    return generate(spec);
  }
  LoadOptions for_file = options;
  if (!options.gpu.empty()) {
    SMARTMIG_TRY(const auto gpu, Catalog::builtin().find(options.gpu));
    for_file.gpu = gpu->name();
  }
  std::error_code ignored;
  if (const auto colon = spec_or_file.find(':');
      colon != spec_or_file.npos && !std::filesystem::exists(spec_or_file, ignored)) {
    const std::string near = nearest(spec_or_file.substr(0, colon), {"paper", "fixed", "miso", "parva"});
    return not_found("there is no file '{}', and a workload spec starts with paper:, fixed:, miso: or parva:{}",
                     spec_or_file, near.empty() ? "" : fmt::format(" (did you mean {}:?)", near));
  }
  // A pipe can be read once only, so it is read whole; a file is opened again and streamed.
  const bool once = spec_or_file == "-" || (std::filesystem::exists(spec_or_file, ignored) &&
                                            !std::filesystem::is_regular_file(spec_or_file, ignored));
  std::string text;
  if (once) {
    SMARTMIG_TRY(text, read_file(spec_or_file));
  }
  const auto open = [&]() -> Result<LineReader> {
    if (once) return LineReader::over(spec_or_file, text);
    return LineReader::open(spec_or_file);
  };
  SMARTMIG_TRY(LineReader start, open());
  SMARTMIG_TRY(const Format format, recognise(std::move(start)));
  if (format == Format::kBatsimJson) {
    if (!once) {
      SMARTMIG_TRY(text, read_file(spec_or_file));
    }
    return read_batsim_json(spec_or_file, text, for_file);
  }
  SMARTMIG_TRY(LineReader lines, open());
  switch (format) {
    case Format::kJobCsv:
      return read_job_csv(std::move(lines), for_file);
    case Format::kTraceCsv:
      return read_trace_csv(std::move(lines), for_file);
    case Format::kSacct:
      return read_sacct(std::move(lines), for_file);
    default:
      return read_swf(std::move(lines), for_file);
  }
}

}  // namespace

Result<Workload> load_workload(const std::string& spec_or_file, const LoadOptions& options) {
  SMARTMIG_TRY(Workload workload, load_as_given(spec_or_file, options));
  if (options.deadline_cut != Time{0}) {
    for (Job& job : workload.jobs)
      if (job.deadline != kNever) job.deadline -= options.deadline_cut;
    workload.rules.push_back(fmt::format("every deadline is {} s earlier", seconds(options.deadline_cut)));
  }
  if (options.restart) set_restart(workload, *options.restart);
  return workload;
}

}  // namespace smartmig
