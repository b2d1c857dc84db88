// The entry of workload_spec.h: a generator, or a file and its reader.
#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "mig/catalog.h"
#include "sim/traces/trace_formats.h"
#include "sim/workload_spec.h"

namespace smartmig {
namespace {

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
    for_file.gpu = gpu->tables();
  }
  std::error_code ignored;
  if (const auto colon = spec_or_file.find(':');
      colon != spec_or_file.npos && !std::filesystem::exists(spec_or_file, ignored)) {
    const std::string near = nearest(spec_or_file.substr(0, colon), {"paper", "fixed", "miso", "parva"});
    return not_found(
        "file '{}' does not exist, and a workload spec starts with paper:, fixed:, miso: or "
        "parva:{}",
        spec_or_file, near.empty() ? "" : fmt::format(" (did you mean {}:?)", near));
  }
  // A pipe can be read only once, so it is read whole. A file is opened again and streamed.
  const bool once = spec_or_file == "-" || (std::filesystem::exists(spec_or_file, ignored) &&
                                            !std::filesystem::is_regular_file(spec_or_file, ignored));
  std::string text;
  if (once) {
    SMARTMIG_TRY(text, read_file(spec_or_file));
  }
  TraceSource source;
  source.name = spec_or_file;
  source.open = [&]() -> Result<LineReader> {
    if (once) return LineReader::over(spec_or_file, text);
    return LineReader::open(spec_or_file);
  };
  source.whole = [&]() -> Result<std::string> { return once ? Result<std::string>(text) : read_file(spec_or_file); };
  return read_trace_file(std::move(source), for_file);
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
