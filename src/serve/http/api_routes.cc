#include "serve/http/api_routes.h"

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
                              "position in the journal; what follows it is sent"};
  return {
      {C::kSubmit,
       "POST",
       "/v1/jobs",
       "Submit one job or several, all or none.",
       201,
       "Submitted",
       "Submission",
       {{"user", ApiParameter::kUser, 0, 0, "whose they are to be, for the operator"}}},
      {C::kJobs,
       "GET",
       "/v1/jobs",
       "The jobs, active ones oldest first, final ones newest first.",
       200,
       "JobList",
       nullptr,
       {{"state", ApiParameter::kState, 0, 0, "active, final, or one state"},
        {"user", ApiParameter::kUser, 0, 0, "jobs of this user, by name or uid"},
        {"after", ApiParameter::kNumber, 0, kMost, "id of the last job of the page before"},
        {"limit", ApiParameter::kNumber, 1, 10'000, "jobs in a page; 1000 if not said"}}},
      {C::kJob, "GET", "/v1/jobs/{id}", "One job with its spec.", 200, "Job"},
      {C::kCancel, "DELETE", "/v1/jobs/{id}", "Cancel a job.", 200, "Job"},
      {C::kRequeue, "POST", "/v1/jobs/{id}/requeue", "Stop a job if it runs and queue it again.", 200, "Job"},
      {C::kCancelJobs, "POST", "/v1/jobs/cancel", "Cancel many jobs at once.", 200, "Changed", "Choice"},
      {C::kRequeueJobs, "POST", "/v1/jobs/requeue", "Queue many jobs again.", 200, "Changed", "Choice"},
      {C::kHoldJobs, "POST", "/v1/jobs/hold", "Let waiting jobs wait until they are released.", 200, "Changed",
       "Choice"},
      {C::kReleaseJobs, "POST", "/v1/jobs/release", "Let held jobs run.", 200, "Changed", "Choice"},
      {C::kFrontJobs, "POST", "/v1/jobs/front", "Put waiting jobs before all others.", 200, "Changed", "Choice"},
      {C::kSuspendJobs, "POST", "/v1/jobs/suspend", "Stop running jobs for a while.", 200, "Changed", "Choice"},
      {C::kContinueJobs, "POST", "/v1/jobs/continue", "Let suspended jobs go on.", 200, "Changed", "Choice"},
      {C::kUpdateJobs, "POST", "/v1/jobs/update", "Change what jobs ask for.", 200, "Changed", "Update"},
      {C::kUsage,
       "GET",
       "/v1/usage",
       "Energy and cost of jobs that ended, added up.",
       200,
       "Usage",
       nullptr,
       {{"by", ApiParameter::kUsageBy, 0, 0, "user, kind or day; user if not said"},
        {"user", ApiParameter::kUser, 0, 0, "jobs of this user, by name or uid"},
        {"since", ApiParameter::kNumber, 0, kMost, "ended at this Unix second or later"},
        {"until", ApiParameter::kNumber, 0, kMost, "ended before this Unix second"}},
       true},
      {C::kGroups, "GET", "/v1/groups", "Groups and how many of their jobs may run at once.", 200, "GroupList"},
      {C::kSetGroup, "POST", "/v1/groups", "Set the limit of a group.", 200, "GroupList", "Group"},
      {C::kReservations, "GET", "/v1/reservations", "Reservations of GPUs.", 200, "ReservationList"},
      {C::kReserve, "POST", "/v1/reservations", "Keep GPUs for some users for a time.", 200, "ReservationList",
       "NewReservation"},
      {C::kUnreserve, "POST", "/v1/reservations/remove", "Take a reservation back.", 200, "ReservationList",
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
       "When it will start and finish, from simulated futures.",
       200,
       "Eta",
       nullptr,
       {},
       true},
      {C::kCalibration, "GET", "/v1/calibration", "How good forecasts of run times, starts and ends were.", 200,
       "Calibration"},
      {C::kJobHistory, "GET", "/v1/jobs/{id}/history", "What was learned of a job's command.", 200, "CommandHistory"},
      {C::kHistory, "POST", "/v1/history", "What was learned of a command.", 200, "CommandHistory", "CommandQuestion"},
      {C::kLog,
       "GET",
       "/v1/jobs/{id}/log",
       "What an attempt wrote.",
       200,
       "text/plain",
       nullptr,
       {{"attempt", ApiParameter::kNumber, 0, 1'000'000, "from 1; 0 or nothing: the last one"},
        {"offset", ApiParameter::kNumber, 0, kMost, "bytes of the log to skip"},
        {"follow", ApiParameter::kFlag, 0, 1, "1: go on until the attempt ends"}}},
      {C::kWhatif,
       "POST",
       "/v1/whatif",
       "The live state carried on under another policy, with another GPU or job.",
       200,
       "Comparison",
       "Question",
       {},
       true,
       true},
      {C::kWorld, "GET", "/v1/world", "What a page needs first: GPU models, GPUs, and who asks.", 200, "World"},
      {C::kChanges,
       "GET",
       "/v1/jobs/changes",
       "Live jobs in short: all, or those that changed since a version.",
       200,
       "Changes",
       nullptr,
       {{"since", ApiParameter::kNumber, 0, kMost, "version of the answer before; 0: all"}}},
      {C::kReasons,
       "POST",
       "/v1/jobs/reasons",
       "Why some jobs wait, in one code and sentence each.",
       200,
       "Reasons",
       "Ids",
       {},
       false,
       true},
      {C::kFutures,
       "GET",
       "/v1/futures",
       "The slices of the future: who is expected where, from when to when, with the spread over simulated futures.",
       200,
       "Futures",
       nullptr,
       {{"count", ApiParameter::kNumber, 0, 20, "futures with uncertain run times; 20 if not said, 0: as expected"}},
       true},
      {C::kPower,
       "GET",
       "/v1/power",
       "Watts of all boards over the last day, by the minute, with the price of the hour.",
       200,
       "Power",
       nullptr,
       {{"since", ApiParameter::kNumber, 0, kMost, "from this Unix second on"}}},
      {C::kGpus, "GET", "/v1/gpus", "The GPUs and their slices.", 200, "GpuList"},
      {C::kDrain, "POST", "/v1/gpus/{gpu}/drain", "Start nothing more on a GPU.", 200, "Done"},
      {C::kResumeGpu, "POST", "/v1/gpus/{gpu}/resume", "Use a GPU again.", 200, "Done"},
      {C::kPause, "POST", "/v1/queue/pause", "Start no more jobs.", 200, "Done"},
      {C::kResumeQueue, "POST", "/v1/queue/resume", "Start jobs again.", 200, "Done"},
      {C::kReload, "POST", "/v1/reload", "Read the configuration again.", 200, "Done"},
      {C::kSetSettings, "POST", "/v1/settings", "Another policy or power cap, until the configuration is read again.",
       200, "Done", "SettingsChange"},
      {C::kBackup,
       "POST",
       "/v1/backup",
       "Copy the store to a new file, while work goes on.",
       200,
       "Done",
       "Backup",
       {},
       true},
      {C::kStatus, "GET", "/v1/status", "The daemon at a glance.", 200, "Status"},
      {C::kEvents,
       "GET",
       "/v1/events",
       "The journal as server-sent events, then what happens next. Last-Event-ID counts as "
       "after.",
       200,
       "text/event-stream",
       nullptr,
       {after}},
      {C::kJournal,
       "GET",
       "/v1/journal",
       "The journal as it stands, one JSON object a line.",
       200,
       "application/x-ndjson",
       nullptr,
       {after}},
      {C::kMetrics, "GET", "/metrics", "Figures for Prometheus.", 200, "text/plain"},
      {C::kHealth, "GET", "/healthz", "200 while the daemon answers.", 200, "Health"},
      {C::kReady, "GET", "/readyz", "200 when jobs can be accepted, else 503.", 200, "Health"},
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
