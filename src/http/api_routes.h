// The table of the API: every route, its parameters and its answer. The dispatcher (api.cc), the OpenAPI document
// (openapi.cc) and the tests read the same rows, so that none can be forgotten.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smartmig {

enum class ApiCall : std::uint8_t {
  kSubmit,
  kJobs,
  kJob,
  kCancel,
  kRequeue,
  kCancelJobs,
  kRequeueJobs,
  kHoldJobs,
  kReleaseJobs,
  kFrontJobs,
  kSuspendJobs,
  kContinueJobs,
  kUpdateJobs,
  kUsage,
  kReservations,
  kReserve,
  kUnreserve,
  kGroups,
  kSetGroup,
  kWhy,
  kEta,
  kCalibration,
  kJobHistory,
  kHistory,
  kLog,
  kWhatif,
  kWorld,
  kChanges,
  kReasons,
  kFutures,
  kGpus,
  kDrain,
  kResumeGpu,
  kPause,
  kResumeQueue,
  kReload,
  kSetSettings,
  kBackup,
  kStatus,
  kPower,
  kEvents,
  kJournal,
  kMetrics,
  kHealth,
  kReady,
  kOpenapi
};

struct ApiParameter {
  const char* name;
  enum Kind : std::uint8_t { kNumber, kState, kUser, kFlag, kUsageBy } kind;
  std::int64_t least, most;  // of a number
  const char* words;
};

struct ApiRoute {
  ApiCall call;
  const char* method;
  const char* pattern;  // "{id}" or "{gpu}" stands for a decimal number
  const char* words;
  int status;                  // when all went well
  const char* answer;          // name of a schema of openapi.cc, or a media type with a '/'
  const char* body = nullptr;  // name of a schema; nothing: no body is taken
  std::vector<ApiParameter> query = {};
  bool slow = false;  // simulates or copies: may take seconds
  bool asks = false;  // a POST that changes nothing; every GET is a question
};

const std::vector<ApiRoute>& api_routes();
const std::vector<std::string>& job_states();  // what ?state= takes

struct RouteMatch {
  const ApiRoute* route = nullptr;
  std::int64_t number = 0;  // what stood for {id} or {gpu}
  std::string allow;        // no route, but these methods have one at this path
};
// Does it only look? Where reading is open to strangers, these are what they may ask.
bool only_reads(std::string_view method, std::string_view path);
RouteMatch match_route(std::string_view method, std::string_view path);

}  // namespace smartmig
