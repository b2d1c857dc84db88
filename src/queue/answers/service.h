// The requests of the HTTP interface to the daemon; the daemon implements it, tests fake it. Answers are JSON as
// documented in docs/api.md. Every method may be called from any thread and answers when the owner thread has (durably)
// done it. The caller is always known: a Unix socket provides the peer's uid, and a TCP client has a token.
#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace smartmig {

struct Caller {
  std::uint32_t uid = 0xFFFFFFFF, gid = 0xFFFFFFFF;
  bool operator_rights = false;                     // root, the daemon's own user, or the operator token
  bool remote = false;                              // by TCP: what it says of homes and users is of another machine
  bool known() const { return uid != 0xFFFFFFFF; }  // else a stranger, who may only look
};

struct JobQuery {
  std::optional<std::uint32_t> uid;
  std::string state;  // "", "active" (not final), "final", or a status name
  std::uint64_t after = 0;
  int limit = 1000;  // newest first for final ones, oldest first for active ones
};

// What can be asked of many jobs at once.
enum class JobVerb : std::uint8_t { kCancel, kRequeue, kHold, kRelease, kFront, kSuspend, kContinue, kUpdate };

// Energy of ended jobs, added up.
struct UsageQuery {
  std::string by = "user";  // user, group, project, kind or day
  std::optional<std::uint32_t> uid;
  std::int64_t since = 0, until = INT64_MAX;  // of their ends, Unix seconds
};

class Service {
 public:
  using Json = nlohmann::json;
  virtual ~Service() = default;
  // Body: a job spec, or {"jobs": [spec, ...]} (all or none). Answer: {"ids":[...],"jobs":[...],"warnings":[...]}.
  // `owner`: for whom, where the operator submits for another.
  virtual Result<Json> submit(const Caller& caller, const Json& body, std::optional<std::uint32_t> owner) = 0;
  virtual Result<Json> jobs(const Caller& caller, const JobQuery& query) = 0;
  virtual Result<Json> job(const Caller& caller, std::uint64_t id) = 0;
  virtual Result<Json> cancel(const Caller& caller, std::uint64_t id) = 0;
  virtual Result<Json> requeue(const Caller& caller, std::uint64_t id) = 0;
  // Body: which jobs, as docs/api.md has it, and for kUpdate {"set":{...}}. Answer: {"jobs":[...],"refused":[...]}; what
  // one of them is refused keeps no other.
  virtual Result<Json> change_jobs(const Caller& caller, JobVerb verb, const Json& body) = 0;
  virtual Result<Json> usage(const Caller& caller, const UsageQuery& query) = 0;
  virtual Result<Json> groups(const Caller& caller) = 0;
  virtual Result<Json> set_group(const Caller& caller, const Json& body) = 0;  // {"name","limit"}; limit 0: none
  virtual Result<Json> reservations(const Caller& caller) = 0;
  virtual Result<Json> reserve(const Caller& caller, const Json& body) = 0;    // as docs/api.md has it
  virtual Result<Json> unreserve(const Caller& caller, const Json& body) = 0;  // {"name"}
  virtual Result<Json> why(const Caller& caller, std::uint64_t id) = 0;
  virtual Result<Json> eta(const Caller& caller, std::uint64_t id) = 0;
  virtual Result<Json> calibration(const Caller& caller) = 0;  // how good its forecasts were
  virtual Result<Json> history_of_job(const Caller& caller, std::uint64_t id) = 0;
  virtual Result<Json> history_of_command(const Caller& caller, const Json& body) = 0;  // {"command":[...],"kind"}
  virtual Result<Json> whatif(const Caller& caller, const Json& body) = 0;
  // What the page asks: who sees what kind of world; all live jobs in short, and then those that changed; the codes of
  // some waiting jobs; the slices of the future with their spread, from `count` futures.
  virtual Result<Json> world(const Caller& caller) = 0;
  virtual Result<Json> changes(const Caller& caller, std::uint64_t since) = 0;
  virtual Result<Json> reasons(const Caller& caller, const Json& body) = 0;  // {"ids":[...]}, 100 at most
  virtual Result<Json> futures(const Caller& caller, int count) = 0;
  virtual Result<Json> gpus(const Caller& caller) = 0;
  virtual Result<Json> status(const Caller& caller) = 0;
  virtual Result<Json> power(const Caller& caller, std::uint64_t since) = 0;  // of the last day; since: Unix seconds
  virtual Result<Json> set_gpu(const Caller& caller, int gpu, bool drain) = 0;
  virtual Result<Json> set_queue(const Caller& caller, bool pause) = 0;
  virtual Result<Json> reload(const Caller& caller) = 0;
  // {"policy","power_cap_w"}: as a reload would, but until the next one only.
  virtual Result<Json> set_settings(const Caller& caller, const Json& body) = 0;
  virtual Result<Json> backup(const Caller& caller, const std::string& path) = 0;
  // Where the log of an attempt lies, after the caller's right to read it was checked. attempt 0: the last one.
  struct Log {
    std::string path;
    bool ended = false;
  };
  virtual Result<Log> log(const Caller& caller, std::uint64_t id, int attempt) = 0;
  // Journal lines after position `after`, waiting up to `wait_s` for the first; `last` is the position of the last one.
  struct Lines {
    std::vector<std::pair<std::uint64_t, std::string>> lines;
    bool closing = false;  // the daemon is going down
  };
  virtual Result<Lines> events(const Caller& caller, std::uint64_t after, int limit, double wait_s) = 0;
  virtual std::string metrics() = 0;  // Prometheus text
  struct Health {
    bool alive = true, ready = true;
    std::string words;
  };
  virtual Health health() = 0;
};

}  // namespace smartmig
