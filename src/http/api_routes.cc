#include "http/api_routes.h"

#include <algorithm>
#include <optional>

#include "base/result.h"
#include "base/text.h"

namespace smartmig {
namespace {

constexpr std::int64_t kMost = INT64_MAX;

std::vector<ApiRoute> make_routes() {
  using C = ApiCall;
  const ApiParameter after = {"after", ApiParameter::kNumber, 0, kMost,
                              "position in the journal; the reply starts after it"};
  return {
      {C::kSubmit,
       "POST",
       "/v1/jobs",
       "Submit one job or several, all or none.",
       201,
       "Submitted",
       "Submission",
       {{"user", ApiParameter::kUser, 0, 0, "owner of the jobs, for the operator"}}},
      {C::kJobs,
       "GET",
       "/v1/jobs",
       "List jobs: active jobs oldest first, ended jobs newest first.",
       200,
       "JobList",
       nullptr,
       {{"state", ApiParameter::kState, 0, 0, "active, final, or one state"},
        {"user", ApiParameter::kUser, 0, 0, "jobs of this user, by name or uid"},
        {"after", ApiParameter::kNumber, 0, kMost, "id of the last job of the previous page"},
        {"limit", ApiParameter::kNumber, 1, 10'000, "jobs per page (default 1000)"}}},
      {C::kJob, "GET", "/v1/jobs/{id}", "Show one job with its spec.", 200, "Job"},
      {C::kCancel, "DELETE", "/v1/jobs/{id}", "Cancel a job.", 200, "Job"},
      {C::kRequeue, "POST", "/v1/jobs/{id}/requeue", "Requeue a job, and stop it first if it is running.", 200, "Job"},
      {C::kCancelJobs, "POST", "/v1/jobs/cancel", "Cancel many jobs at once.", 200, "Changed", "Choice"},
      {C::kRequeueJobs, "POST", "/v1/jobs/requeue", "Requeue many jobs at once.", 200, "Changed", "Choice"},
      {C::kHoldJobs, "POST", "/v1/jobs/hold", "Hold waiting jobs.", 200, "Changed", "Choice"},
      {C::kReleaseJobs, "POST", "/v1/jobs/release", "Release held jobs.", 200, "Changed", "Choice"},
      {C::kFrontJobs, "POST", "/v1/jobs/front", "Move waiting jobs to the head of the queue.", 200, "Changed",
       "Choice"},
      {C::kSuspendJobs, "POST", "/v1/jobs/suspend", "Suspend running jobs.", 200, "Changed", "Choice"},
      {C::kContinueJobs, "POST", "/v1/jobs/continue", "Resume suspended jobs.", 200, "Changed", "Choice"},
      {C::kUpdateJobs, "POST", "/v1/jobs/update", "Change the requests of jobs.", 200, "Changed", "Update"},
      {C::kUsage,
       "GET",
       "/v1/usage",
       "Total energy and cost of ended jobs.",
       200,
       "Usage",
       nullptr,
       {{"by", ApiParameter::kUsageBy, 0, 0, "user, group (Unix group), project, kind or day (default user)"},
        {"user", ApiParameter::kUser, 0, 0, "jobs of this user, by name or uid"},
        {"since", ApiParameter::kNumber, 0, kMost, "jobs that ended at this Unix second or later"},
        {"until", ApiParameter::kNumber, 0, kMost, "jobs that ended before this Unix second"}},
       true},
      {C::kGroups, "GET", "/v1/groups", "Groups and their limits on concurrent jobs.", 200, "GroupList"},
      {C::kSetGroup, "POST", "/v1/groups", "Set the limit of a group.", 200, "GroupList", "Group"},
      {C::kReservations, "GET", "/v1/reservations", "Reservations of GPUs.", 200, "ReservationList"},
      {C::kReserve, "POST", "/v1/reservations", "Reserve GPUs for some users for a period.", 200, "ReservationList",
       "NewReservation"},
      {C::kUnreserve, "POST", "/v1/reservations/remove", "Remove a reservation.", 200, "ReservationList",
       "ReservationName"},
      {C::kWhy,
       "GET",
       "/v1/jobs/{id}/why",
       "Why a job waits, and what would have to change.",
       200,
       "Why",
       nullptr,
       {},
       true},
      {C::kEta,
       "GET",
       "/v1/jobs/{id}/eta",
       "When a job will start and finish, from simulated futures.",
       200,
       "Eta",
       nullptr,
       {},
       true},
      {C::kCalibration, "GET", "/v1/calibration", "How accurate forecasts of run times, starts and ends were.", 200,
       "Calibration"},
      {C::kJobHistory, "GET", "/v1/jobs/{id}/history", "History of a job's command.", 200, "CommandHistory"},
      {C::kHistory, "POST", "/v1/history", "History of a command.", 200, "CommandHistory", "CommandQuestion"},
      {C::kLog,
       "GET",
       "/v1/jobs/{id}/log",
       "Output of an attempt.",
       200,
       "text/plain",
       nullptr,
       {{"attempt", ApiParameter::kNumber, 0, 1'000'000,
         "number of the attempt, from 1; 0 or missing: the last attempt"},
        {"offset", ApiParameter::kNumber, 0, kMost, "bytes of the log to skip"},
        {"follow", ApiParameter::kFlag, 0, 1, "1: follow until the attempt ends"}}},
      {C::kWhatif,
       "POST",
       "/v1/whatif",
       "The future of the live state with another policy, more GPUs or another job.",
       200,
       "Comparison",
       "Question",
       {},
       true,
       true},
      {C::kWorld, "GET", "/v1/world", "GPU models, GPUs, and the caller.", 200, "World"},
      {C::kChanges,
       "GET",
       "/v1/jobs/changes",
       "Live jobs as short rows: all jobs, or those that changed since a version.",
       200,
       "Changes",
       nullptr,
       {{"since", ApiParameter::kNumber, 0, kMost, "version of the previous reply; 0: all jobs"}}},
      {C::kReasons,
       "POST",
       "/v1/jobs/reasons",
       "Why some jobs wait: one code and one sentence for each.",
       200,
       "Reasons",
       "Ids",
       {},
       false,
       true},
      {C::kFutures,
       "GET",
       "/v1/futures",
       "The expected slices, and each job's spread over simulated futures.",
       200,
       "Futures",
       nullptr,
       {{"count", ApiParameter::kNumber, 0, 20,
         "futures with uncertain run times (default 20); 0: expected times only"}},
       true},
      {C::kPower,
       "GET",
       "/v1/power",
       "Power of all boards for each minute of the last day, with the price at that time.",
       200,
       "Power",
       nullptr,
       {{"since", ApiParameter::kNumber, 0, kMost, "points from this Unix second on"}}},
      {C::kGpus, "GET", "/v1/gpus", "The GPUs and their slices.", 200, "GpuList"},
      {C::kDrain, "POST", "/v1/gpus/{gpu}/drain", "Start no more jobs on a GPU.", 200, "Done"},
      {C::kResumeGpu, "POST", "/v1/gpus/{gpu}/resume", "Return a GPU to service.", 200, "Done"},
      {C::kPause, "POST", "/v1/queue/pause", "Start no more jobs.", 200, "Done"},
      {C::kResumeQueue, "POST", "/v1/queue/resume", "Start jobs again.", 200, "Done"},
      {C::kReload, "POST", "/v1/reload", "Reload the configuration.", 200, "Done"},
      {C::kSetSettings, "POST", "/v1/settings", "Set another policy or power cap, until the configuration is reloaded.",
       200, "Done", "SettingsChange"},
      {C::kBackup,
       "POST",
       "/v1/backup",
       "Copy the store to a new file while the daemon runs.",
       200,
       "Done",
       "Backup",
       {},
       true},
      {C::kStatus, "GET", "/v1/status", "Summary of the daemon.", 200, "Status"},
      {C::kEvents,
       "GET",
       "/v1/events",
       "The journal as server-sent events, followed by new events. Last-Event-ID has the same meaning as after.",
       200,
       "text/event-stream",
       nullptr,
       {after}},
      {C::kJournal,
       "GET",
       "/v1/journal",
       "The journal, one JSON object per line.",
       200,
       "application/x-ndjson",
       nullptr,
       {after}},
      {C::kMetrics, "GET", "/metrics", "Metrics for Prometheus.", 200, "text/plain"},
      {C::kHealth, "GET", "/healthz", "200 while the daemon answers.", 200, "Health"},
      {C::kReady, "GET", "/readyz", "200 while the daemon accepts jobs, otherwise 503.", 200, "Health"},
      {C::kOpenapi, "GET", "/v1/openapi.json", "This description.", 200, "Document"},
  };
}

// The number that stands for the braces; -1: the pattern has none. Nothing: the path does not fit.
std::optional<std::int64_t> fits(std::string_view pattern, std::string_view path) {
  const auto open = pattern.find('{');
  if (open == pattern.npos) return pattern == path ? std::optional<std::int64_t>(-1) : std::nullopt;
  const std::string_view tail = pattern.substr(pattern.find('}') + 1);
  if (path.size() <= open + tail.size() || path.substr(0, open) != pattern.substr(0, open) || !path.ends_with(tail))
    return std::nullopt;
  const std::string_view digits = path.substr(open, path.size() - open - tail.size());
  if (!std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
  return parse_int(digits);
}

}  // namespace

const std::vector<ApiRoute>& api_routes() {
  static const std::vector<ApiRoute> routes = make_routes();
  return routes;
}

const std::vector<std::string>& job_states() {
  static const std::vector<std::string> states = {"active",   "final", "held",   "queued",    "starting", "running",
                                                  "stopping", "done",  "failed", "cancelled", "timed_out"};
  return states;
}

bool only_reads(std::string_view method, std::string_view path) {
  if (method == "GET" || method == "HEAD") return true;
  const RouteMatch match = match_route(method, path);
  return match.route && match.route->asks;
}

RouteMatch match_route(std::string_view method, std::string_view path) {
  RouteMatch match;
  for (const ApiRoute& route : api_routes()) {
    const auto number = fits(route.pattern, path);
    if (!number) continue;
    if (route.method == method) return {&route, *number, ""};
    match.allow += fmt::format("{}{}", match.allow.empty() ? "" : ", ", route.method);
  }
  return match;
}

}  // namespace smartmig
