// What an attempt has of the preload library and the hook for Python: its variables, its directory, its reports.
#include <sys/stat.h>

#include "live/jobs/exact_memory.h"
#include "live/jobs/held_start.h"
#include "live/jobs/process_runner.h"

namespace smartmig {

std::string ProcessRunner::memory_directory(AttemptId id) const {
  return fmt::format("{}/{}.{}", options_.memory, id.job, id.attempt);
}

namespace {

Result<Ok> library_reports(bool somewhere) {
  if (!somewhere) return unsupported("this runner keeps no reports of CUDA requests");
  SMARTMIG_TRY(const std::string library, find_preload_library());
  return Ok{};
}

}  // namespace

Result<Ok> ProcessRunner::reports_memory() const { return library_reports(!options_.memory.empty()); }

Result<Ok> ProcessRunner::reports_tensors() const {
  if (options_.memory.empty()) return unsupported("this runner keeps no reports of tensors");
  SMARTMIG_TRY(const std::string hook, find_python_hook());
  return Ok{};
}

// Called once the attempt has its place in the spool, so what lies there is of a start that came to nothing.
Result<Environment> ProcessRunner::preload_environment(const Launch& launch) const {
  if (launch.hold) SMARTMIG_RETURN_IF_ERROR(reports_memory());
  const bool exact = launch.spec.exact_memory.value_or(false);
  const bool library = (exact || launch.hold || launch.tell_cuda) && reports_memory();
  const bool hook = exact && reports_tensors();
  if (!launch.spec.container.empty()) {  // has no use for the library, and needs a place of its own
    if (options_.memory.empty()) return unsupported("this runner has no directory for containers");
    remove_memory_directory(memory_directory(launch.id));
    SMARTMIG_RETURN_IF_ERROR(make_memory_directory(memory_directory(launch.id), launch.uid, launch.gid));
    return Environment{};
  }
  if (!library && !hook) return Environment{};
  const std::string directory = memory_directory(launch.id);
  remove_memory_directory(directory);
  if (const auto made = make_memory_directory(directory, launch.uid, launch.gid); !made) {
    if (launch.hold) return made.error();
    return Environment{};  // rather a job that tells nothing than none
  }
  const auto own = [&](std::string_view name) {
    std::string_view found;
    for (const std::string_view entry : launch.spec.environment)
      if (entry.starts_with(name)) found = entry.substr(name.size());
    return found;
  };
  Environment out;
  if (exact) out.push_back({"SMARTMIG_MEMORY_DIR", directory});
  if (library) {
    SMARTMIG_TRY(const std::string path, find_preload_library());
    out.push_back({"LD_PRELOAD", put_first(path, own("LD_PRELOAD="))});
  }
  if (hook) {
    SMARTMIG_TRY(const std::string path, find_python_hook());
    out.push_back({"PYTHONPATH", put_first(path, own("PYTHONPATH="))});
  }
  if (library && (launch.hold || launch.tell_cuda))
    for (auto& variable : hold_environment(directory, launch.hold)) out.push_back(std::move(variable));
  return out;
}

JobRunner::Looks ProcessRunner::looks() const {
  return {
      can_reach_program,
      [reports = !options_.memory.empty()](const JobSpec& spec, std::uint32_t uid, std::uint32_t gid) -> Result<Ok> {
        SMARTMIG_RETURN_IF_ERROR(library_reports(reports));
        return can_be_held(spec, uid, gid);
      }};
}

std::optional<Time> ProcessRunner::first_cuda_call(AttemptId id) const {
  if (options_.memory.empty()) return std::nullopt;
  return smartmig::first_cuda_call(memory_directory(id));
}

std::optional<JobMemory> ProcessRunner::memory_of(AttemptId id) const {
  if (options_.memory.empty()) return std::nullopt;
  const std::string directory = memory_directory(id);
  struct stat entry {};
  if (::lstat(directory.c_str(), &entry) != 0 || !S_ISDIR(entry.st_mode)) return std::nullopt;
  const auto reports = read_memory_reports(directory, entry.st_uid);
  if (reports.empty()) return std::nullopt;
  return sum_memory(reports);
}

void ProcessRunner::forget_memory(AttemptId id) {
  if (!options_.memory.empty()) remove_memory_directory(memory_directory(id));
}

}  // namespace smartmig
