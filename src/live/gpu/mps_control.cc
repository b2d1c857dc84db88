#include "live/gpu/mps_control.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/text.h"
#include "live/durable_file.h"
#include "live/gpu/driver.h"

namespace smartmig {
namespace {

constexpr int kPolls = 100;         // of kPollPause each: how long a daemon may take to start or stop
constexpr int kPollPause = 50'000;  // us
constexpr int kQuestions = 3;       // a daemon that is busy with a new client may leave a question unanswered
constexpr Time kAnswer{3'000'000};

std::vector<std::uint32_t> pids_in(std::string_view text) {
  std::vector<std::uint32_t> pids;
  for (std::string_view line : split(text, '\n'))
    if (const auto pid = parse_int(trim(line)); pid && *pid > 0) pids.push_back(std::uint32_t(*pid));
  return pids;
}

}  // namespace

MpsControl::MpsControl(std::string program, std::string root, std::string gpu_uuid, bool multi_user)
    : program_(std::move(program)),
      gpu_(std::move(gpu_uuid)),
      pipe_(fmt::format("{}/{}/pipe", root, gpu_)),
      log_(fmt::format("{}/{}/log", root, gpu_)),
      multi_user_(multi_user) {}

ProgramRun MpsControl::prepared() const {
  ProgramRun run;
  run.arguments = {program_};
  run.environment = {
      {"CUDA_MPS_PIPE_DIRECTORY", pipe_}, {"CUDA_MPS_LOG_DIRECTORY", log_}, {"CUDA_VISIBLE_DEVICES", gpu_}};
  return run;
}

Result<std::string> MpsControl::ask(const std::string& command) const {
  ProgramRun run = prepared();
  run.input = command + "\n";
  run.limit = kAnswer;
  auto answer = run_program(run);
  for (int i = 1; i < kQuestions && !answer && answer.error().code == Error::kTimeout; ++i) answer = run_program(run);
  SMARTMIG_TRY(const ProgramResult result, std::move(answer));
  if (result.status != 0)
    return lost_error(
        "the MPS control daemon of {} does not answer '{}': {}", gpu_, command,
        trim(result.output).empty() ? fmt::format("exit {}", result.status) : std::string(trim(result.output)));
  return result.output;
}

bool MpsControl::running() const { return bool(ask("get_server_list")); }

bool MpsControl::running_still() const {
  for (int i = 0; i < kQuestions; ++i) {
    if (running()) return true;
    ::usleep(kPollPause);
  }
  return false;
}

// One that has ended may stay as a zombie where nobody waits for it.
bool MpsControl::process_lives() const {
  std::ifstream file(pipe_ + "/nvidia-cuda-mps-control.pid");
  int pid = 0;
  if (!(file >> pid) || pid <= 0) return false;
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  std::string line;
  if (!std::getline(stat, line)) return false;
  const auto name_end = line.rfind(") ");
  return name_end != line.npos && name_end + 2 < line.size() && line[name_end + 2] != 'Z';
}

Result<Ok> MpsControl::start() {
  if (answered_ && process_lives()) return Ok{};
  answered_ = running();
  if (answered_) return Ok{};
  SMARTMIG_RETURN_IF_ERROR(make_directories(pipe_));
  SMARTMIG_RETURN_IF_ERROR(make_directories(log_));
  ProgramRun run = prepared();
  run.arguments.push_back("-d");
  if (multi_user_) run.arguments.push_back("-multiuser-server");
  run.capture = false;
  SMARTMIG_TRY(const ProgramResult result, run_program(run));
  if (result.status != 0)
    return lost_error("{} -d for {} ended with {}; its log is {}/control.log", program_, gpu_, result.status, log_);
  for (int i = 0; i < kPolls; ++i) {
    answered_ = running();
    if (answered_) return Ok{};
    ::usleep(kPollPause);
  }
  return timeout_error("the MPS control daemon of {} was started but does not answer; its log is {}/control.log", gpu_,
                       log_);
}

Result<Ok> MpsControl::stop() {
  if (!running()) return Ok{};
  SMARTMIG_RETURN_IF_ERROR(ask("quit"));
  // It removes its pipes as it ends: a new one must not be started in the same place before that.
  for (int i = 0; i < kPolls; ++i) {
    if (!running() && !process_lives()) return Ok{};
    ::usleep(kPollPause);
  }
  return timeout_error("the MPS control daemon of {} does not stop; a client may still be running", gpu_);
}

Result<std::vector<std::uint32_t>> MpsControl::clients() const {
  SMARTMIG_TRY(const std::string servers, ask("get_server_list"));
  std::vector<std::uint32_t> all;
  for (std::uint32_t server : pids_in(servers)) {
    SMARTMIG_TRY(const std::string list, ask(fmt::format("get_client_list {}", server)));
    for (std::uint32_t pid : pids_in(list)) all.push_back(pid);
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::optional<MpsFault> find_fault(std::string_view log, const std::vector<std::uint32_t>& clients) {
  for (std::string_view line : split(log, '\n')) {
    const std::string low = lower(line);
    if (low.find("fatal") == low.npos && low.find("exception") == low.npos) continue;
    MpsFault fault;
    fault.line = std::string(line);
    if (const auto at = low.find("client"); at != low.npos) {
      std::size_t digit = low.find_first_of("0123456789", at);
      std::uint64_t pid = 0;
      for (; digit < low.size() && low[digit] >= '0' && low[digit] <= '9' && pid < (1u << 30); ++digit)
        pid = pid * 10 + std::uint64_t(low[digit] - '0');
      fault.culprit = std::uint32_t(pid);
    }
    for (std::uint32_t pid : clients)
      if (pid != fault.culprit) fault.collateral.push_back(pid);
    return fault;
  }
  return std::nullopt;
}

}  // namespace smartmig
