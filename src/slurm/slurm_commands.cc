#include "slurm/slurm_commands.h"

#include <algorithm>

#include "base/text.h"
#include "live/jobs/run_program.h"

namespace smartmig {
namespace {

constexpr std::size_t kMostOutput = std::size_t(1) << 30;
constexpr std::size_t kMostInput = 32'000;  // what a pipe takes without waiting
constexpr Time kLimit{30'000'000};
constexpr const char* kAccounts = "modify job ";  // what sacctmgr is told
constexpr const char* kNodeFormat =               // parse_sinfo
    "NodeList:256|,StateLong:64|,NodeAddr:256|,Gres:512|,PartitionName:256|,features_act:2048|,CPUsState:64|,Memory:32|,"
    "AllocMem:32|,Reason:512";

Result<std::string> ask(std::vector<std::string> arguments, std::string input = "") {
  ProgramRun run;
  run.arguments = std::move(arguments);
  run.environment = {{"SLURM_BITSTR_LEN", "0"}, {"SLURM_TIME_FORMAT", "standard"}};
  run.input = std::move(input);
  run.limit = kLimit;
  run.most_output = kMostOutput;
  SMARTMIG_TRY(ProgramResult done, run_program(run));
  if (done.status != 0 && run.input.empty())
    return io_error("{} ended with {}: {}", run.arguments[0], done.status, trim(done.output));
  return std::move(done.output);
}

std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != '"' && c != '\'' && c != '\\' && (unsigned char)(c) >= ' ') out += c;
  return out;
}

// scontrol keeps the quotes of a line as part of the value, but needs them around blanks: a text without any has none.
std::string value(std::string_view text) {
  const std::string out = plain(text);
  return out.empty() || out.find(' ') != std::string::npos ? fmt::format("\"{}\"", out) : out;
}

// A note with blanks, for a call of its own: as an argument it needs no quotes, so none are kept.
bool needs_own_call(const SlurmAction& action) {
  return action.what == SlurmAction::kNote && action.text.find(' ') != std::string::npos;
}

}  // namespace

std::string scontrol_line(const SlurmAction& action) {
  const std::string job = to_string(action.job);
  switch (action.what) {
    case SlurmAction::kPin:
      return fmt::format("update JobId={} ReqNodeList={}\n", job, plain(action.node));
    case SlurmAction::kRelease:
      return fmt::format("release {}\n", job);
    case SlurmAction::kHold:
      return fmt::format("hold {}\n", job);
    case SlurmAction::kRequeue:
      return fmt::format("requeuehold {}\n", job);
    case SlurmAction::kNote:
      return fmt::format("update JobId={} AdminComment={}\n", job, value(action.text));
    case SlurmAction::kAccount:
      // By the name: the number of an array's last task is also the array's, and means all of them here.
      return fmt::format("{}where jobid={} set admincomment=\"{}\"\n", kAccounts, job, plain(action.text));
    case SlurmAction::kResume:
      return fmt::format("update NodeName={} State=RESUME\n", plain(action.node));
    case SlurmAction::kPublish:
      return fmt::format("update NodeName={} Comment=\"{}\"\n", plain(action.node), plain(action.text));
  }
  return {};
}

std::vector<std::string> scontrol_lines(const std::vector<SlurmAction>& actions) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    out.push_back(scontrol_line(actions[i]));
    if (actions[i].what != SlurmAction::kPin || i + 1 == actions.size()) continue;
    const SlurmAction& next = actions[i + 1];
    if (next.what != SlurmAction::kNote || next.job != actions[i].job) continue;
    out.back().pop_back();
    out.back() += fmt::format(" AdminComment={}\n", value(next.text));
    ++i;
  }
  return out;
}

std::size_t requests_of(const std::vector<std::string>& lines) {
  std::size_t out = 0;
  for (const std::string& line : lines) out += line.find(" ReqNodeList=") != line.npos ? 3 : 1;
  return out;
}

Result<std::vector<SlurmJob>> SlurmCommands::jobs() {
  // Newer ones leave out jobs that have ended unless they are asked for all.
  SMARTMIG_TRY(const std::string text, ask({"squeue", "--json", "--states=all"}));
  SMARTMIG_TRY(auto jobs, parse_squeue_json(text));
  std::erase_if(jobs, [&](const SlurmJob& job) {
    return std::find(partitions_.begin(), partitions_.end(), job.partition) == partitions_.end();
  });
  return jobs;
}

Result<std::vector<SlurmNode>> SlurmCommands::nodes() {
  const std::string partitions = fmt::format("{}", fmt::join(partitions_, ","));
  SMARTMIG_TRY(const std::string text, ask({"sinfo", "-h", "-N", "-p", partitions, "-O", kNodeFormat}));
  SMARTMIG_TRY(auto nodes, parse_sinfo(text));
  SMARTMIG_TRY(const std::string reservations, ask({"scontrol", "show", "reservation", "-o"}));
  add_reservations(reservations, nodes);
  if (!counts_memory_) {
    SMARTMIG_TRY(const std::string config, slurm_config_text());
    const auto parameters = config.find("SelectTypeParameters");
    const std::string_view line =
        parameters == config.npos ? std::string_view() : std::string_view(config).substr(parameters);
    counts_memory_ = lower(line.substr(0, line.find('\n'))).find("memory") != std::string::npos;
  }
  if (!*counts_memory_)
    for (SlurmNode& node : nodes) node.mem_mib = node.mem_taken_mib = 0;
  return nodes;
}

Result<Ok> SlurmCommands::act(const std::vector<SlurmAction>& actions) {
  std::string orders, accounts;
  last_words_.clear();
  const auto send = [&](std::string& lines, std::vector<std::string> program) -> Result<Ok> {
    if (lines.empty()) return Ok{};
    SMARTMIG_TRY(const std::string words, ask(std::move(program), std::exchange(lines, {})));
    last_words_ += words;
    return Ok{};
  };
  std::vector<SlurmAction> in_lines;
  for (const SlurmAction& action : actions) {
    if (!needs_own_call(action)) {
      in_lines.push_back(action);
      continue;
    }
    // A refusal is no error: the next snapshot shows what became of it.
    (void)ask({"scontrol", "update", "JobId=" + to_string(action.job), "AdminComment=" + plain(action.text)});
  }
  for (const std::string& line : scontrol_lines(in_lines)) {
    (line.starts_with(kAccounts) ? accounts : orders) += line;
    if (orders.size() >= kMostInput) SMARTMIG_RETURN_IF_ERROR(send(orders, {"scontrol"}));
    if (accounts.size() >= kMostInput) SMARTMIG_RETURN_IF_ERROR(send(accounts, {"sacctmgr", "-i"}));
  }
  SMARTMIG_RETURN_IF_ERROR(send(orders, {"scontrol"}));
  (void)send(accounts, {"sacctmgr", "-i"});  // there may be none
  return Ok{};
}

Result<std::string> slurm_config_text() { return ask({"scontrol", "show", "config"}); }

Result<std::string> slurm_version() {
  SMARTMIG_TRY(const std::string text, ask({"scontrol", "--version"}));
  const std::string_view line = trim(text);
  const auto blank = line.rfind(' ');
  return std::string(blank == line.npos ? line : line.substr(blank + 1));
}

}  // namespace smartmig
