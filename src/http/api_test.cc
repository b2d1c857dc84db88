#include "http/api.h"

#include <set>

#include "http/openapi.h"
#include "support/api_world.h"

namespace smartmig {
namespace {

using namespace api_test;

TEST(Api, RoutesReachTheirMethods) {
  ApiWorld w;
  auto reply = w.ask("POST", "/v1/jobs", R"({"command":["true"]})", 1000);
  EXPECT_EQ(reply.status, 201);
  EXPECT_EQ(Json::parse(reply.body)["ids"], Json::array({1}));
  reply = w.ask("POST", "/v1/jobs", R"({"jobs":[{"command":["a"]},{"command":["b"]}]})", 1001);
  EXPECT_EQ(Json::parse(reply.body)["ids"], Json::array({2, 3}));
  EXPECT_EQ(w.ask("GET", "/v1/jobs/2").status, 200);
  EXPECT_EQ(Json::parse(w.ask("GET", "/v1/jobs/2").body)["uid"], 1001);
  EXPECT_EQ(Json::parse(w.ask("GET", "/v1/jobs/2/why").body)["code"], "no_room");
  EXPECT_EQ(Json::parse(w.ask("GET", "/v1/jobs/2/eta").body)["futures"], 20);
  EXPECT_EQ(Json::parse(w.ask("POST", "/v1/jobs/2/requeue", "{}").body)["state"], "queued");
  EXPECT_EQ(Json::parse(w.ask("DELETE", "/v1/jobs/2").body)["state"], "cancelled");
  EXPECT_EQ(Json::parse(w.ask("POST", "/v1/jobs/cancel", R"({"ids":[3,9]})").body)["jobs"][0]["id"], 3);
  EXPECT_EQ(Json::parse(w.ask("POST", "/v1/jobs/requeue", R"({"ids":[9]})").body)["refused"][0]["id"], 9);
  EXPECT_TRUE(Json::parse(w.ask("POST", "/v1/jobs/hold", R"({"ids":[9]})").body)["jobs"].empty());
  EXPECT_EQ(Json::parse(w.ask("GET", "/v1/usage?by=day&since=5").body)["by"], "day");
  EXPECT_EQ(w.ask("GET", "/v1/usage?by=shoe").status, 400);
  EXPECT_TRUE(Json::parse(w.ask("GET", "/v1/groups").body)["groups"].is_array());
  EXPECT_EQ(Json::parse(w.ask("POST", "/v1/gpus/3/drain").body)["drained"], true);
  EXPECT_EQ(Json::parse(w.ask("POST", "/v1/gpus/3/resume").body)["drained"], false);
  EXPECT_EQ(Json::parse(w.ask("POST", "/v1/queue/pause").body)["paused"], true);
  EXPECT_EQ(Json::parse(w.ask("POST", "/v1/queue/resume").body)["paused"], false);
  EXPECT_EQ(Json::parse(w.ask("POST", "/v1/backup", R"({"path":"/x/y"})").body)["path"], "/x/y");
  EXPECT_EQ(Json::parse(w.ask("POST", "/v1/whatif", R"({"policy":"cedf"})").body)["asked"]["policy"], "cedf");
  EXPECT_EQ(Json::parse(w.ask("GET", "/v1/world").body)["kind"], "live");
  EXPECT_EQ(Json::parse(w.ask("GET", "/v1/jobs/changes?since=7").body)["since"], 7);
  EXPECT_EQ(Json::parse(w.ask("POST", "/v1/jobs/reasons", R"({"ids":[3]})").body)["asked"]["ids"][0], 3);
  EXPECT_EQ(Json::parse(w.ask("GET", "/v1/futures").body)["futures"], 20);
  EXPECT_EQ(Json::parse(w.ask("GET", "/v1/futures?count=0").body)["futures"], 0);
  EXPECT_EQ(w.ask("GET", "/v1/futures?count=21").status, 400);
  EXPECT_EQ(w.ask("GET", "/metrics").type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(w.ask("GET", "/healthz").status, 200);
  w.service.ready = false;
  EXPECT_EQ(w.ask("GET", "/healthz").status, 200);
  EXPECT_EQ(w.ask("GET", "/readyz").status, 503);
}

TEST(Api, PassesTheCallerOn) {
  ApiWorld w;
  w.ask("POST", "/v1/jobs", R"({"command":["true"]})", 1000);
  EXPECT_EQ(w.ask("DELETE", "/v1/jobs/1", "", 1001).status, 403);
  EXPECT_EQ(w.ask("GET", "/v1/jobs/1/log", "", 1001).status, 403);
  EXPECT_EQ(w.ask("POST", "/v1/gpus/1/drain", "", 1000).status, 403);
  EXPECT_EQ(w.ask("DELETE", "/v1/jobs/1", "", 1000).status, 200);
  EXPECT_EQ(w.ask("DELETE", "/v1/jobs/1", "", 0).status, 409);
}

TEST(Api, ParametersAreStrict) {
  ApiWorld w;
  EXPECT_EQ(w.ask("GET", "/v1/jobs?state=active&user=1000&after=5&limit=7").status, 200);
  EXPECT_EQ(w.service.last_query.state, "active");
  EXPECT_EQ(w.service.last_query.uid, 1000u);
  EXPECT_EQ(w.service.last_query.after, 5u);
  EXPECT_EQ(w.service.last_query.limit, 7);
  EXPECT_EQ(w.ask("GET", "/v1/jobs?user=root").status, 200);
  EXPECT_EQ(w.service.last_query.uid, 0u);
  EXPECT_EQ(w.words(w.ask("GET", "/v1/jobs?sate=active")),
            "/v1/jobs has no parameter \"sate\": did you mean \"state\"?");
  for (const char* bad :
       {"?state=sleeping", "?limit=0", "?limit=10001", "?limit=x", "?after=-1", "?after=99999999999999999999",
        "?user=nobody-of-this-name", "?limit=3&limit=4", "?state=%zz", "?user=-1"})
    EXPECT_EQ(w.ask("GET", std::string("/v1/jobs") + bad).status, 400) << bad;
  EXPECT_EQ(w.ask("GET", "/v1/status?x=1").status, 400);
}

TEST(Api, RefusesWhatDoesNotFit) {
  ApiWorld w;
  EXPECT_EQ(w.ask("GET", "/v1/nothing").status, 404);
  for (const char* path : {"/v1/jobs/", "/v1/jobs/x", "/v1/jobs/1/", "/v1/jobs/-1", "/v1/jobs/1%32", "/v1/jobs//why",
                           "/", "/v1/jobs/99999999999999999999", "/v1/jobs/1/../2"})
    EXPECT_EQ(w.ask("GET", path).status, 404) << path;
  EXPECT_EQ(w.ask("GET", "v1/jobs").status, 400);
  EXPECT_EQ(w.ask("GET", "/v1/jobs/7").status, 404);
  EXPECT_EQ(w.ask("POST", "/v1/gpus/99/drain").status, 404);
  EXPECT_EQ(w.ask("POST", "/v1/gpus/99999999999/drain").status, 404);
  const auto reply = w.ask("PUT", "/v1/jobs");
  EXPECT_EQ(reply.status, 405);
  ASSERT_EQ(reply.headers.size(), 1u);
  EXPECT_EQ(reply.headers[0].second, "POST, GET");
  EXPECT_EQ(w.ask("POST", "/v1/reload").status, 501);
  EXPECT_EQ(Json::parse(w.ask("GET", "/v1/power?since=60").body)["since"], 60);
  EXPECT_EQ(Json::parse(w.ask("POST", "/v1/settings", R"({"power_cap_w":9})").body)["asked"]["power_cap_w"], 9);
  for (const char* body : {"", "[]", "{", "17", "{\"command\":[\"\xff\"]}", "{\"jobs\":7}", "{\"jobs\":[1]}"})
    EXPECT_EQ(w.ask("POST", "/v1/jobs", body).status, 400) << body;
  EXPECT_EQ(w.ask("POST", "/v1/jobs", "{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}").status,
            400);
  EXPECT_EQ(w.ask("POST", "/v1/queue/pause", "{\"a\":1}").status, 400);
  for (const char* body :
       {"{}", "{\"path\":\"x\"}", "{\"path\":7}", "{\"path\":\"/a\",\"b\":1}", "{\"path\":\"/a\\u0000b\"}"})
    EXPECT_EQ(w.ask("POST", "/v1/backup", body).status, 400) << body;
  EXPECT_EQ(w.service.count(), 0u);
}

TEST(Api, TheDocumentHasEveryRoute) {
  ApiWorld w;
  const auto reply = w.ask("GET", "/v1/openapi.json");
  ASSERT_EQ(reply.status, 200);
  const Json document = Json::parse(reply.body);
  EXPECT_EQ(document["openapi"], "3.1.0");
  EXPECT_EQ(document["info"]["version"], "1.2.3");
  EXPECT_EQ(document["servers"][0]["url"], "/");
  EXPECT_TRUE(document["security"][1].contains("token"));
  std::set<ApiCall> calls;
  for (const ApiRoute& route : api_routes()) {
    EXPECT_TRUE(calls.insert(route.call).second) << route.pattern;
    std::string method = route.method;
    for (char& c : method) c = char(std::tolower(c));
    ASSERT_TRUE(document["paths"].contains(route.pattern)) << route.pattern;
    const Json& operation = document["paths"][route.pattern][method];
    ASSERT_TRUE(operation.is_object()) << route.pattern;
    EXPECT_TRUE(operation["responses"].contains(std::to_string(route.status)));
    EXPECT_EQ(operation.contains("requestBody"), route.body != nullptr);
  }
  EXPECT_EQ(calls.size(), std::size_t(ApiCall::kOpenapi) + 1);
  const std::string text = document.dump();  // every reference leads somewhere
  const std::string mark = "\"#/components/schemas/";
  for (std::size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + 1)) {
    const auto from = at + mark.size();
    const std::string name = text.substr(from, text.find('"', from) - from);
    EXPECT_TRUE(document["components"]["schemas"].contains(name)) << name;
  }
}

}  // namespace
}  // namespace smartmig
