#include "serve/attempts/exit_verdict.h"

#include <signal.h>

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
  const bool by_itself = exit.code == 0 && (!checkpoints || exit.unasked);
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
      const std::string why =
          fmt::format("GPU {} failed{}{}", job.place.gpu, facts.gpu_words.empty() ? "" : ": ", facts.gpu_words);
      if (exit.never_started) return back("requeued: " + why + "; it had not begun", job.work.remaining);
      if (job.spec.preemptible()) return back("requeued: " + why + how, left);
      return ends(JobStatus::kFailed,
                  why + (job.spec.once ? "; --no-requeue forbids a restart"
                                       : "; with --requeue it would run again on another GPU"),
                  false);
    }
  }
  return std::nullopt;
}

}  // namespace

ExitVerdict verdict_of(const JobRecord& job, const AttemptExit& exit, const ExitFacts& facts) {
  if (auto stopped = of_stopped(job, exit, facts)) return *stopped;
  // Even one that then exits with 0, or whose command had not begun.
  if (exit.timed_out) return ends(JobStatus::kTimedOut, exit.words, !exit.never_started);
  if (exit.never_started) return ends(JobStatus::kFailed, exit.words, false);
  if (exit.code == 0) return ends(JobStatus::kDone, "", true);
  if (exit.host_oom) return ends(JobStatus::kFailed, "it used more host memory than allowed; raise --host-mem", true);
  ExitVerdict verdict = ends(JobStatus::kFailed,
                             !exit.words.empty() ? exit.words
                             : exit.signal > 0   ? fmt::format("killed by signal {}", exit.signal)
                                                 : fmt::format("exit code {}", exit.code),
                             true);
  verdict.kind = ExitVerdict::kFails;
  return verdict;
}

}  // namespace smartmig
