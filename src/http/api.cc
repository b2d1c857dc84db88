#include "http/api.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "base/users.h"
#include "http/event_stream.h"
#include "http/log_stream.h"
#include "http/openapi.h"

namespace smartmig {
namespace {

constexpr int kDeepest = 32;  // nesting of a body

// What a route's query says, by the kinds of its parameters.
struct Query {
  std::int64_t since = 0, until = INT64_MAX;
  std::string by = "user";
  std::int64_t after = 0, limit = 1000, attempt = 0, offset = 0, follow = 0, count = 20;
  bool has_after = false;
  std::string state;
  std::optional<std::uint32_t> uid;
};

Result<Ok> take(Query& query, const ApiParameter& parameter, const std::string& value) {
  if (parameter.kind == ApiParameter::kState) {
    const auto& known = job_states();
    if (std::find(known.begin(), known.end(), value) == known.end())
      return invalid("state={}: must be one of {}", value, fmt::join(known, ", "));
    query.state = value;
    return Ok{};
  }
  if (parameter.kind == ApiParameter::kUsageBy) {
    if (value != "user" && value != "group" && value != "project" && value != "kind" && value != "day")
      return invalid("by={}: must be user, group, project, kind or day", value);
    query.by = value;
    return Ok{};
  }
  if (parameter.kind == ApiParameter::kUser) {
    SMARTMIG_TRY(query.uid, uid_of(value));
    return Ok{};
  }
  const auto number = parse_int(value);
  if (!number || *number < parameter.least || *number > parameter.most)
    return invalid("{}={}: must be a whole number from {} to {}", parameter.name, value, parameter.least,
                   parameter.most);
  const std::string_view name = parameter.name;
  if (name == "after") query.has_after = true;
  (name == "after"     ? query.after
   : name == "since"   ? query.since
   : name == "until"   ? query.until
   : name == "limit"   ? query.limit
   : name == "attempt" ? query.attempt
   : name == "offset"  ? query.offset
   : name == "count"   ? query.count
                       : query.follow) = *number;
  return Ok{};
}

Result<Query> read_query(const HttpRequest& request, const ApiRoute& route) {
  Query query;
  std::vector<std::string> seen;
  for (const auto& given : request.query) {
    const std::string& name = given.first;
    const auto known =
        std::find_if(route.query.begin(), route.query.end(), [&](const auto& p) { return name == p.name; });
    if (known == route.query.end()) {
      std::vector<std::string> names;
      for (const auto& p : route.query) names.emplace_back(p.name);
      const std::string near = nearest(name, names);
      return invalid("{} has no parameter \"{}\"{}", route.pattern, name,
                     near.empty() ? "" : fmt::format(": did you mean \"{}\"?", near));
    }
    if (std::find(seen.begin(), seen.end(), name) != seen.end())
      return invalid("the parameter \"{}\" is given twice", name);
    seen.push_back(name);
    if (!given.second.empty()) SMARTMIG_RETURN_IF_ERROR(take(query, *known, given.second));
  }
  return query;
}

bool too_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\')
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == '[' || c == '{') && ++depth > kDeepest)
      return true;
    else if (!quoted && (c == ']' || c == '}'))
      --depth;
  }
  return false;
}

Result<Json> read_body(const HttpRequest& request, const ApiRoute& route) {
  if (trim(request.body).empty()) {
    if (route.body) return invalid("{} {} needs a JSON object as its body", route.method, route.pattern);
    return Json::object();
  }
  if (too_deep(request.body)) return invalid("the body is nested deeper than {} levels", kDeepest);
  SMARTMIG_TRY(Json body, parse_json("the body", request.body));
  if (!body.is_object()) return invalid("the body is not a JSON object");
  if (!route.body && !body.empty()) return invalid("{} {} takes no body", route.method, route.pattern);
  return body;
}

Result<Json> back_up(Service& service, const Caller& caller, const Json& body) {
  const auto path = body.find("path");
  if (body.size() != 1 || path == body.end() || !path->is_string())
    return invalid("the body must be {{\"path\":\"/...\"}}");
  const auto& text = path->get_ref<const std::string&>();
  if (!text.starts_with('/') || text.find('\0') != text.npos) return invalid("path must be absolute");
  return service.backup(caller, text);
}

HttpReply json_reply(const Result<Json>& answer, int status) {
  if (!answer) return error_reply(answer.error());
  HttpReply reply;
  reply.status = status;
  reply.body = answer->dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  return reply;
}

HttpReply stream_reply(Result<std::unique_ptr<ReplyStream>> stream, std::string type) {
  if (!stream) return error_reply(stream.error());
  HttpReply reply;
  reply.type = std::move(type);
  reply.stream = std::move(*stream);
  return reply;
}

HttpReply health_reply(const Service::Health& health, bool good) {
  HttpReply reply;
  reply.status = good ? 200 : 503;
  const Json body = {{"alive", health.alive}, {"ready", health.ready}, {"words", health.words}};
  reply.body = json_dump(body) + "\n";
  return reply;
}

Result<std::uint64_t> position(const HttpRequest& request, const Query& query) {
  const std::string last = request.header("last-event-id");  // a browser or client that reconnects
  if (query.has_after || last.empty()) return std::uint64_t(query.after);
  const auto number = parse_int(last);
  if (!number || *number < 0) return invalid("Last-Event-ID: {} is not a position of the journal", last);
  return std::uint64_t(*number);
}

HttpReply answer(Service& service, const std::string& version, const HttpRequest& request, const RouteMatch& match) {
  const ApiRoute& route = *match.route;
  const auto query = read_query(request, route);
  if (!query) return error_reply(query.error());
  const auto body = read_body(request, route);
  if (!body) return error_reply(body.error());
  const Caller& caller = request.caller;
  const auto id = std::uint64_t(match.number);
  const auto json = [&](const Result<Json>& result) { return json_reply(result, route.status); };
  switch (route.call) {
    case ApiCall::kSubmit:
      return json(service.submit(caller, *body, query->uid));
    case ApiCall::kJobs: {
      JobQuery jobs;
      jobs.uid = query->uid;
      jobs.state = query->state;
      jobs.after = std::uint64_t(query->after);
      jobs.limit = int(query->limit);
      return json(service.jobs(caller, jobs));
    }
    case ApiCall::kJob:
      return json(service.job(caller, id));
    case ApiCall::kCancel:
      return json(service.cancel(caller, id));
    case ApiCall::kRequeue:
      return json(service.requeue(caller, id));
    case ApiCall::kCancelJobs:
    case ApiCall::kRequeueJobs:
    case ApiCall::kHoldJobs:
    case ApiCall::kReleaseJobs:
    case ApiCall::kFrontJobs:
    case ApiCall::kSuspendJobs:
    case ApiCall::kContinueJobs:
    case ApiCall::kUpdateJobs:  // in the order of JobVerb
      return json(service.change_jobs(caller, JobVerb(int(route.call) - int(ApiCall::kCancelJobs)), *body));
    case ApiCall::kUsage:
      return json(service.usage(caller, {query->by, query->uid, query->since, query->until}));
    case ApiCall::kGroups:
      return json(service.groups(caller));
    case ApiCall::kSetGroup:
      return json(service.set_group(caller, *body));
    case ApiCall::kReservations:
      return json(service.reservations(caller));
    case ApiCall::kReserve:
      return json(service.reserve(caller, *body));
    case ApiCall::kUnreserve:
      return json(service.unreserve(caller, *body));
    case ApiCall::kWhy:
      return json(service.why(caller, id));
    case ApiCall::kEta:
      return json(service.eta(caller, id));
    case ApiCall::kCalibration:
      return json(service.calibration(caller));
    case ApiCall::kJobHistory:
      return json(service.history_of_job(caller, id));
    case ApiCall::kHistory:
      return json(service.history_of_command(caller, *body));
    case ApiCall::kLog:
      return stream_reply(
          LogStream::open(service, caller, {id, int(query->attempt), query->offset, query->follow == 1}),
          "text/plain; charset=utf-8");
    case ApiCall::kWhatif:
      return json(service.whatif(caller, *body));
    case ApiCall::kWorld:
      return json(service.world(caller));
    case ApiCall::kChanges:
      return json(service.changes(caller, std::uint64_t(query->since)));
    case ApiCall::kReasons:
      return json(service.reasons(caller, *body));
    case ApiCall::kFutures:
      return json(service.futures(caller, int(query->count)));
    case ApiCall::kGpus:
      return json(service.gpus(caller));
    case ApiCall::kDrain:
    case ApiCall::kResumeGpu:
      if (match.number > 1'000'000) return error_reply(not_found("there is no GPU {}", match.number));
      return json(service.set_gpu(caller, int(match.number), route.call == ApiCall::kDrain));
    case ApiCall::kPause:
      return json(service.set_queue(caller, true));
    case ApiCall::kResumeQueue:
      return json(service.set_queue(caller, false));
    case ApiCall::kReload:
      return json(service.reload(caller));
    case ApiCall::kSetSettings:
      return json(service.set_settings(caller, *body));
    case ApiCall::kBackup:
      return json(back_up(service, caller, *body));
    case ApiCall::kPower:
      return json(service.power(caller, std::uint64_t(query->since)));
    case ApiCall::kStatus:
      return json(service.status(caller));
    case ApiCall::kEvents:
    case ApiCall::kJournal: {
      const auto after = position(request, *query);
      if (!after) return error_reply(after.error());
      if (route.call == ApiCall::kEvents)
        return stream_reply(EventStream::open(service, caller, *after), "text/event-stream");
      return stream_reply(JournalStream::open(service, caller, *after), "application/x-ndjson");
    }
    case ApiCall::kMetrics: {
      HttpReply reply;
      reply.type = "text/plain; version=0.0.4; charset=utf-8";
      reply.body = service.metrics();
      return reply;
    }
    case ApiCall::kHealth: {
      const auto health = service.health();
      return health_reply(health, health.alive);
    }
    case ApiCall::kReady: {
      const auto health = service.health();
      return health_reply(health, health.alive && health.ready);
    }
    case ApiCall::kOpenapi:
      return json(openapi_document(version));
  }
  return error_reply(500, "io", "a route without an answer");
}

}  // namespace

HttpReply Api::handle(const HttpRequest& request) {
  const RouteMatch match = match_route(request.method, request.path);
  if (!match.route && !match.allow.empty()) {
    auto reply = error_reply(405, "invalid", fmt::format("{} takes {}", request.path, match.allow));
    reply.headers.emplace_back("Allow", match.allow);
    return reply;
  }
  if (!match.route) return error_reply(not_found("there is no {}; see /v1/openapi.json", request.path));
  try {
    return answer(service_, version_, request, match);
  } catch (const std::exception& bug) {  // of the JSON library: a value was not of the type that some code took it for
    return error_reply(500, "io", fmt::format("{} {} failed: {}", request.method, request.path, bug.what()));
  }
}

bool Api::is_slow(const HttpRequest& request) const {
  const RouteMatch match = match_route(request.method, request.path);
  return match.route && match.route->slow;
}

}  // namespace smartmig
