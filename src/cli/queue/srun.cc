// `srun` within a job: its PATH begins with a directory where that name is this program (shims/srun). The command takes
// this process's place, so signals, exit code and output are the job's own.
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/queue/exported_environment.h"
#include "cli/queue/srun_call.h"
#include "cli/verbs.h"

namespace smartmig::cli {
namespace {

std::string own_variable(const char* name) {
  const char* const value = ::getenv(name);
  return value ? value : "";
}

Result<Ok> redirect(const std::string& pattern, int to, int how) {
  if (pattern.empty()) return Ok{};
  const std::string path = expand_srun_file(pattern, own_variable);
  const int fd = ::open(path.c_str(), how | O_CLOEXEC | O_NOCTTY, 0666);
  if (fd < 0) return io_error("cannot open {}: {}", path, ::strerror(errno));
  ::dup2(fd, to);
  ::close(fd);
  return Ok{};
}

Result<Ok> prepare(const SrunCall& call) {
  const int how = O_WRONLY | O_CREAT | (call.append ? O_APPEND : O_TRUNC);
  SMARTMIG_RETURN_IF_ERROR(redirect(call.input, STDIN_FILENO, O_RDONLY));
  SMARTMIG_RETURN_IF_ERROR(redirect(call.output, STDOUT_FILENO, how));
  if (!call.output.empty() && call.error.empty()) ::dup2(STDOUT_FILENO, STDERR_FILENO);
  SMARTMIG_RETURN_IF_ERROR(redirect(call.error, STDERR_FILENO, how));
  if (!call.directory.empty() && ::chdir(call.directory.c_str()) != 0)
    return io_error("cannot enter {}: {}", call.directory, ::strerror(errno));
  return Ok{};
}

// What --export names, and what tells the job of itself and of its slice.
void leave_out_environment(const std::string& list) {
  static std::vector<std::string> kept;  // putenv keeps their addresses
  std::vector<std::string> notes;
  kept = exported_environment(list, ::environ, notes);
  for (char** entry = ::environ; *entry; ++entry)
    for (const char* prefix : {"SLURM_", "SMARTMIG_", "CUDA_", "NVIDIA_", "NVML_SIM_"})
      if (std::string_view(*entry).starts_with(prefix)) kept.emplace_back(*entry);
  ::clearenv();
  for (std::string& entry : kept) ::putenv(entry.data());
}

}  // namespace

int run_srun(const Arguments& arguments) {
  const auto refuse = [](const Error& error) {
    fmt::print(stderr, "srun (of smartmig): {}\n", error.what);
    return error.code == Error::kInvalid ? 2 : 1;
  };
  const auto call = parse_srun(arguments);
  if (!call) return refuse(call.error());
  if (own_variable("SMARTMIG_JOB_ID").empty())
    return refuse(invalid("this is not a smartmig job; to run a command on a slice, use smartmig run -- COMMAND"));
  if (const auto ready = prepare(*call); !ready) return refuse(ready.error());
  if (!call->export_list.empty()) leave_out_environment(call->export_list);
  const std::string pid = std::to_string(::getpid());
  for (const auto& [name, value] :
       {std::pair("SLURM_PROCID", "0"), std::pair("SLURM_LOCALID", "0"), std::pair("SLURM_NODEID", "0"),
        std::pair("SLURM_NTASKS", "1"), std::pair("SLURM_NPROCS", "1"), std::pair("SLURM_NNODES", "1"),
        std::pair("SLURM_STEP_ID", "0"), std::pair("SLURM_TASK_PID", pid.c_str())})
    ::setenv(name, value, 1);
  std::vector<char*> words;
  for (const std::string& word : call->command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  const int why = errno;
  fmt::print(stderr, "srun (of smartmig): cannot run {}: {}\n", call->command[0], ::strerror(why));
  return why == ENOENT ? 127 : 126;
}

}  // namespace smartmig::cli
