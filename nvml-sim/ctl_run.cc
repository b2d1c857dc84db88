#include "ctl_run.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "ctl_modules.h"
#include "ctl_mounts.h"
#include "ctl_views.h"
#include "driver_files.h"
#include "session.h"

namespace smartmig::nvsim {
namespace {

namespace fs = std::filesystem;

// As smartmig looks for it; the build puts it beside this program.
Result<fs::path> find_library() {
  const fs::path name = "libnvidia-ml.so.1";
  std::error_code ignored;
  const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  std::vector<fs::path> places = {here / name, here.parent_path() / "lib" / "smartmig" / name};
  if (const char* given = std::getenv("SMARTMIG_NVML_SIM"); given && *given)
    places.insert(places.begin(), fs::is_directory(given, ignored) ? fs::path(given) / name : fs::path(given));
  for (const fs::path& place : places)
    if (fs::exists(place, ignored)) return fs::absolute(place);
  return not_found("{} is neither in {} nor in {}: SMARTMIG_NVML_SIM names it", name.string(), here.string(),
                   places.back().parent_path().string());
}

// DIR/lib: the library under both names that programs ask for.
Result<std::string> make_library_folder(const std::string& directory) {
  SMARTMIG_TRY(const fs::path library, find_library());
  const fs::path folder = fs::path(directory) / "lib";
  std::error_code failed;
  fs::create_directories(folder, failed);
  for (const char* name : {"libnvidia-ml.so.1", "libnvidia-ml.so"}) {
    const fs::path made = folder / fmt::format(".{}.{}", name, ::getpid());
    if (!failed) fs::create_symlink(library, made, failed);
    if (!failed) fs::rename(made, folder / name, failed);
  }
  if (failed) return io_error("{}: {}", folder.string(), failed.message());
  return folder.string();
}

Result<Ok> set_up(const std::string& directory) {
  SMARTMIG_TRY(const std::string libraries, make_library_folder(directory));
  ::setenv("NVML_SIM_STATE", directory.c_str(), 1);
  ::unsetenv("NVML_SIM_GPUS");
  const char* others = std::getenv("LD_LIBRARY_PATH");
  ::setenv("LD_LIBRARY_PATH", (libraries + (others && *others ? std::string(":") + others : "")).c_str(), 1);
  if (nvmlInit_v2() != NVML_SUCCESS) return io_error("{}", last_error());
  Result<Ok> ready = make_driver_files(*machine());
  if (ready) ready = enter_mount_namespace();
  if (ready)
    for (const std::string& words : show_boards(*machine())) fmt::print(stderr, "nvml-sim-ctl: not shown: {}\n", words);
  nvmlShutdown();  // or the program's process would count as a client that it is not yet
  return ready;
}

Error become(const std::vector<std::string>& program) {
  std::vector<char*> words;
  for (const std::string& word : program) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  return io_error("{}: {}", program[0], std::strerror(errno));
}

volatile sig_atomic_t running = 0;  // the program's process
void pass_on(int signal) {
  if (running > 0) ::kill(running, signal);
}

}  // namespace

Error run_on_machine(const std::string& directory, const std::vector<std::string>& program) {
  std::error_code failed;
  const std::string whole = fs::canonical(directory, failed).string();
  if (failed) return io_error("{}: {}", directory, failed.message());
  if (auto ready = set_up(whole); !ready) return ready.error();
  if (auto ready = answer_for_modules(whole); !ready) return ready.error();
  return become(program);
}

Result<int> run_on_new_machine(const MachineSpec& spec, const std::vector<std::string>& program) {
  std::string directory = (fs::temp_directory_path() / "nvml-sim-XXXXXX").string();
  if (!::mkdtemp(directory.data())) return io_error("{}: {}", directory, std::strerror(errno));
  Result<int> code = 0;
  if (auto made = Store::create(directory, spec); !made) {
    code = made.error();
  } else if (const pid_t child = ::fork(); child < 0) {
    code = io_error("no process for {}: {}", program[0], std::strerror(errno));
  } else if (child == 0) {
    const Error failed = run_on_machine(directory, program);
    fmt::print(stderr, "nvml-sim-ctl: {}\n", failed.what);
    ::_exit(1);
  } else {
    running = child;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(signal, pass_on);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::error_code ignored;
  fs::remove_all(directory, ignored);
  return code;
}

}  // namespace smartmig::nvsim
