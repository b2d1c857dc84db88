// Every reply of the daemon's API is what its OpenAPI document says.
#include <gtest/gtest.h>

#include "http/api.h"
#include "support/daemon_queue.h"
#include "support/openapi_check.h"

namespace smartmig {
namespace {

class DaemonApi {
 public:
  explicit DaemonApi(TestQueue& q) : q_(q), api_(q.host->service(), "1.2.3") {}
  Json ask(const std::string& method, const std::string& target, const Json& body = {}) {
    HttpRequest request;
    request.method = method;
    if (!body.is_null()) request.body = body.dump();
    request.caller = {0, 0, true};
    EXPECT_TRUE(parse_target(target, request)) << target;
    auto answer = std::async(std::launch::async, [&] { return api_.handle(request); });
    while (answer.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) q_.daemon().step();
    const HttpReply reply = answer.get();
    check.reply(method, request.path, reply);
    return reply.stream ? Json() : Json::parse(reply.body, nullptr, false);
  }
  OpenapiCheck check;

 private:
  TestQueue& q_;
  Api api_;
};

Json a_job(double minutes) { return {{"command", {"train"}}, {"directory", "/"}, {"estimate_s", minutes * 60}}; }

TEST(DaemonApiDocument, EveryReplyIsWhatItSays) {
  TestQueue q("2xa100-40gb", [](DaemonHostOptions& options) { options.settings.prices = {0.3, 1}; });
  DaemonApi api(q);
  api.ask("GET", "/healthz");
  api.ask("GET", "/readyz");
  api.ask("GET", "/metrics");
  api.ask("GET", "/v1/openapi.json");
  Json full = a_job(30);
  full.update({{"name", "n"},
               {"deadline_s", 600},
               {"mem_mib", 4'000},
               {"min_slices", 2},
               {"requeue", true},
               {"checkpoint_signal", "USR1"},
               {"restart_s", 5},
               {"grace_s", 5},
               {"cpus", 1},
               {"host_mem_mib", 64},
               {"group", "g"},
               {"mail", {"end"}},
               {"mail_user", "alice"},
               {"environment", {"A=b"}}});
  api.ask("POST", "/v1/jobs", full);
  Json array = a_job(20), whole = a_job(60), after = a_job(5), held = a_job(5);
  array["array"] = {0, 1, 2, 3};
  array["array_limit"] = 2;
  whole["exclusive"] = true;
  after["dependencies"] = {"afterok:1"};
  held["hold"] = true;
  const Json sent = api.ask("POST", "/v1/jobs", {{"jobs", {array, whole, whole, whole, after, held}}});
  const std::uint64_t running = sent["ids"][4], waiting = sent["ids"][6];
  const std::uint64_t depending = sent["ids"][7], on_hold = sent["ids"][8];
  api.ask("POST", "/v1/groups", {{"name", "g"}, {"limit", 3}});
  api.ask("GET", "/v1/groups");
  q.run(2);
  const auto of = [](std::uint64_t id, const char* what) { return fmt::format("/v1/jobs/{}{}", id, what); };
  for (const std::uint64_t id : {std::uint64_t(1), waiting, depending, on_hold})
    for (const char* what : {"", "/why", "/eta", "/history"}) api.ask("GET", of(id, what));
  for (const char* path :
       {"/v1/jobs", "/v1/jobs?state=active&limit=2", "/v1/jobs/changes", "/v1/world", "/v1/futures?count=3",
        "/v1/futures?count=0", "/v1/gpus", "/v1/status", "/v1/power", "/v1/calibration", "/v1/usage?by=kind"})
    api.ask("GET", path);
  api.ask("POST", "/v1/jobs/reasons", {{"ids", {1, waiting, depending, on_hold}}});
  api.ask("POST", "/v1/history", {{"command", {"train"}}});
  api.ask("POST", "/v1/whatif",
          {{"add_gpus", "1xa100-40gb"}, {"job", a_job(10)}, {"lanes", true}, {"power_cap_w", 600}});
  api.ask("POST", "/v1/reservations", {{"name", "course"}, {"count", 1}, {"begin_s", 3'600}, {"duration_s", 600}});
  api.ask("GET", "/v1/reservations");
  api.ask("GET", "/v1/gpus");
  api.ask("POST", "/v1/reservations/remove", {{"name", "course"}});
  const Json choice = {{"ids", {waiting, 999}}};
  Json update = choice;
  update["set"] = {{"deadline_s", 60}, {"begin_s", nullptr}, {"estimate_s", 90}};
  api.ask("POST", "/v1/jobs/update", update);
  api.ask("POST", "/v1/jobs/hold", choice);
  api.ask("POST", "/v1/jobs/release", choice);
  api.ask("POST", "/v1/jobs/front", choice);
  api.ask("POST", "/v1/jobs/suspend", {{"ids", {1}}});
  api.ask("GET", of(1, ""));
  api.ask("POST", "/v1/jobs/continue", {{"ids", {1}}});
  api.ask("POST", of(running, "/requeue"));
  api.ask("POST", "/v1/jobs/requeue", {{"ids", {1}}});
  api.ask("POST", "/v1/jobs/cancel", {{"ids", {waiting}}});
  api.ask("DELETE", of(on_hold, ""));
  api.ask("POST", "/v1/queue/pause");
  api.ask("POST", "/v1/queue/resume");
  api.ask("POST", "/v1/gpus/1/drain");
  api.ask("POST", "/v1/gpus/1/resume");
  api.ask("POST", "/v1/settings", {{"policy", "static+cedf"}, {"power_cap_w", 500}});
  api.ask("POST", "/v1/reload");
  api.ask("POST", "/v1/backup", {{"path", q.dir.path() + "/copy.db"}});
  q.run();
  api.ask("GET", of(1, ""));
  api.ask("GET", of(1, "/log"));
  api.ask("GET", of(1, "/history"));
  for (const char* path : {"/v1/jobs?state=final", "/v1/jobs/changes?since=1", "/v1/usage", "/v1/usage?by=day",
                           "/v1/calibration", "/v1/status", "/v1/power", "/v1/events", "/v1/journal", "/v1/jobs/999"})
    api.ask("GET", path);
  // Jobs of this queue have no processes, so perhaps no log; nobody has given it a configuration to load again.
  api.check.expect_answers_of_all({ApiCall::kLog, ApiCall::kReload});
}

}  // namespace
}  // namespace smartmig
