#include "serve/daemon/exit_verdict.h"

#include <signal.h>
#include <string.h>

#include <optional>

namespace smartmig {
namespace {

ExitVerdict ends(JobStatus status, std::string reason, bool completed) {
  return {ExitVerdict::kEnds, status, std::move(reason), completed};
}

ExitVerdict back(std::string reason, double remaining) {
  ExitVerdict verdict;
  verdict.kind = ExitVerdict::kBackToQueue;
  verdict.reason = std::move(reason);
  verdict.remaining = remaining;
  return verdict;
}

// Of a job that was told to stop. Nothing: it had ended by itself before that reached it.
std::optional<ExitVerdict> of_stopped(const JobRecord& job, const AttemptExit& exit, const ExitFacts& facts) {
  const bool checkpoints = job.spec.checkpoint_signal != 0;
  const bool by_itself = exit.code == 0 && !checkpoints;
  // One that had to be killed has saved nothing since it was started.
  const bool killed = exit.signal == SIGKILL;
  const double left = !checkpoints ? 1 : killed ? job.work.remaining : facts.share_left;
  const std::string how = killed && !exit.words.empty() ? "; " + exit.words : "";
  switch (job.stop_reason) {
    case StopReason::kNone:
      return std::nullopt;
    case StopReason::kCancel:
      return ends(JobStatus::kCancelled, job.reason, false);
    case StopReason::kRequeue:
      return back("requeued by request" + how, 1);
    case StopReason::kPreempt: {
      if (by_itself) return std::nullopt;
      ExitVerdict verdict = back("preempted" + how, left);
      verdict.preempted = true;
      if (checkpoints && !killed && facts.believed) verdict.kind = ExitVerdict::kAsBelieved;
      return verdict;
    }
    case StopReason::kLarger:
      if (by_itself) return std::nullopt;
      return back(job.reason + how, left);
    case StopReason::kGpuFailed: {
      if (by_itself) return std::nullopt;
      const std::string why = fmt::format("GPU {} failed: {}", job.place.gpu, facts.gpu_words);
      if (job.spec.preemptible()) return back("requeued: " + why + how, left);
      return ends(JobStatus::kFailed,
                  why + (job.spec.once ? "; it runs once: --no-requeue"
                                       : "; submit it with --requeue to have it run again elsewhere"),
                  false);
    }
  }
  return std::nullopt;
}

// As the supervisor says it (supervisor/main.cc), whoever gave the order.
bool was_told_to_save(const JobRecord& job, const AttemptExit& exit) {
  if (job.spec.checkpoint_signal == 0 || exit.code != 0) return false;
  const char* const name = ::sigabbrev_np(job.spec.checkpoint_signal);
  return name && exit.words.find(fmt::format("ended after SIG{}", name)) != std::string::npos;
}

}  // namespace

ExitVerdict verdict_of(const JobRecord& job, const AttemptExit& exit, const ExitFacts& facts) {
  if (auto stopped = of_stopped(job, exit, facts)) return *stopped;
  if (exit.never_started) return ends(JobStatus::kFailed, exit.words, false);
  if (exit.timed_out) return ends(JobStatus::kTimedOut, exit.words, true);  // even one that then exits with 0
  if (was_told_to_save(job, exit))  // by an order that a restore took back: the rest of its work is to do
    return back("it saved itself for an order that the restored queue does not know", job.work.remaining);
  if (exit.code == 0) return ends(JobStatus::kDone, "", true);
  if (exit.host_oom)
    return ends(JobStatus::kFailed, "it used more host memory than it may; give it more with --host-mem", true);
  ExitVerdict verdict = ends(JobStatus::kFailed,
                             !exit.words.empty() ? exit.words
                             : exit.signal > 0   ? fmt::format("killed by signal {}", exit.signal)
                                                 : fmt::format("exit code {}", exit.code),
                             true);
  verdict.kind = ExitVerdict::kFails;
  return verdict;
}

}  // namespace smartmig
