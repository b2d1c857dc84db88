#include "serve/http/api.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "serve/http/event_stream.h"
#include "serve/http/http_guard.h"
#include "serve/http/log_stream.h"
#include "serve/http/openapi.h"
#include "support/fake_service.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

using Json = nlohmann::json;

struct World {
  FakeService service;
  Api api{service, "1.2.3"};

  HttpReply ask(const std::string& method, const std::string& target, const std::string& body = "",
                std::uint32_t uid = 0) {
    HttpRequest request;
    request.method = method;
    request.body = body;
    request.caller = {uid, uid, uid == 0};
    if (const auto parsed = parse_target(target, request); !parsed) return error_reply(parsed.error());
    return api.handle(request);
  }
  std::string words(const HttpReply& reply) {
    const Json body = Json::parse(reply.body, nullptr, false);
    return body.is_object() && body.contains("error") ? body["error"]["message"].get<std::string>() : "";
  }
};

std::string all_of(ReplyStream& stream) {
  std::string text;
  while (stream.pull(text) == ReplyStream::kData)
    ;
  return text;
}

TEST(Api, RoutesReachTheirMethods) {
  World w;
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
  EXPECT_EQ(Json::parse(w.ask("POST", "/v1/gpus/3/drain").body)["drained"], true);
  EXPECT_EQ(Json::parse(w.ask("POST", "/v1/gpus/3/resume").body)["drained"], false);
  EXPECT_EQ(Json::parse(w.ask("POST", "/v1/queue/pause").body)["paused"], true);
  EXPECT_EQ(Json::parse(w.ask("POST", "/v1/queue/resume").body)["paused"], false);
  EXPECT_EQ(Json::parse(w.ask("POST", "/v1/backup", R"({"path":"/x/y"})").body)["path"], "/x/y");
  EXPECT_EQ(Json::parse(w.ask("POST", "/v1/whatif", R"({"policy":"cedf"})").body)["asked"]["policy"], "cedf");
  EXPECT_EQ(w.ask("GET", "/metrics").type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(w.ask("GET", "/healthz").status, 200);
  w.service.ready = false;
  EXPECT_EQ(w.ask("GET", "/healthz").status, 200);
  EXPECT_EQ(w.ask("GET", "/readyz").status, 503);
}

TEST(Api, PassesTheCallerOn) {
  World w;
  w.ask("POST", "/v1/jobs", R"({"command":["true"]})", 1000);
  EXPECT_EQ(w.ask("DELETE", "/v1/jobs/1", "", 1001).status, 403);
  EXPECT_EQ(w.ask("GET", "/v1/jobs/1/log", "", 1001).status, 403);
  EXPECT_EQ(w.ask("POST", "/v1/gpus/1/drain", "", 1000).status, 403);
  EXPECT_EQ(w.ask("DELETE", "/v1/jobs/1", "", 1000).status, 200);
  EXPECT_EQ(w.ask("DELETE", "/v1/jobs/1", "", 0).status, 409);
}

TEST(Api, ParametersAreStrict) {
  World w;
  EXPECT_EQ(w.ask("GET", "/v1/jobs?state=active&user=1000&after=5&limit=7").status, 200);
  EXPECT_EQ(w.service.last_query.state, "active");
  EXPECT_EQ(w.service.last_query.uid, 1000u);
  EXPECT_EQ(w.service.last_query.after, 5u);
  EXPECT_EQ(w.service.last_query.limit, 7);
  EXPECT_EQ(w.ask("GET", "/v1/jobs?user=root").status, 200);
  EXPECT_EQ(w.service.last_query.uid, 0u);
  EXPECT_EQ(w.words(w.ask("GET", "/v1/jobs?sate=active")),
            "/v1/jobs takes no parameter \"sate\": did you mean \"state\"?");
  for (const char* bad :
       {"?state=sleeping", "?limit=0", "?limit=10001", "?limit=x", "?after=-1", "?after=99999999999999999999",
        "?user=nobody-of-this-name", "?limit=3&limit=4", "?state=%zz", "?user=-1"})
    EXPECT_EQ(w.ask("GET", std::string("/v1/jobs") + bad).status, 400) << bad;
  EXPECT_EQ(w.ask("GET", "/v1/status?x=1").status, 400);
}

TEST(Api, RefusesWhatDoesNotFit) {
  World w;
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
  World w;
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

TEST(Api, EventsComeFromAnyPosition) {
  World w;
  for (int i = 0; i < 600; ++i) w.service.say("started");
  auto reply = w.ask("GET", "/v1/events?after=598");
  ASSERT_TRUE(reply.stream);
  EXPECT_EQ(reply.type, "text/event-stream");
  std::string text;
  EXPECT_EQ(reply.stream->pull(text), ReplyStream::kData);
  EXPECT_EQ(
      text,
      ": journal of smartmig\n\nid: 599\nevent: started\ndata: {\"t\":598,\"seq\":598,\"ev\":\"started\",\"job\":0}\n\n"
      "id: 600\nevent: started\ndata: {\"t\":599,\"seq\":599,\"ev\":\"started\",\"job\":0}\n\n");
  EXPECT_EQ(reply.stream->pull(text), ReplyStream::kWait);
  w.service.say("finished");
  EXPECT_TRUE(reply.stream->wait(5));
  text.clear();
  EXPECT_EQ(reply.stream->pull(text), ReplyStream::kData);
  EXPECT_EQ(text.substr(0, 23), "id: 601\nevent: finished");
  w.service.close();
  EXPECT_EQ(reply.stream->pull(text), ReplyStream::kEnd);

  HttpRequest again;
  again.method = "GET";
  again.path = "/v1/events";
  again.headers["last-event-id"] = "600";
  text = all_of(*w.api.handle(again).stream);
  EXPECT_NE(text.find("id: 601\n"), std::string::npos);
  EXPECT_EQ(text.find("id: 600\n"), std::string::npos);
  again.headers["last-event-id"] = "x";
  EXPECT_EQ(w.api.handle(again).status, 400);
}

TEST(Api, AnEventIsOneLineWhateverTheJournalHolds) {
  std::string text;
  append_event(text, 3, "{\"ev\":\"a b\",\n\"x\":1}\r");
  EXPECT_EQ(text, "id: 3\nevent: event\ndata: {\"ev\":\"a b\",\"x\":1}\n\n");
}

TEST(Api, TheJournalIsComplete) {
  World w;
  for (int i = 0; i < 1000; ++i) w.service.say("started");
  const std::string text = all_of(*w.ask("GET", "/v1/journal").stream);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1000);
  EXPECT_TRUE(Json::accept(text.substr(0, text.find('\n'))));
  EXPECT_EQ(all_of(*w.ask("GET", "/v1/journal?after=1000").stream), "");
}

class Logs : public ::testing::Test {
 protected:
  Logs() {
    path_ = dir_.path() + "/log";
    w_.service.log_path = path_;
    w_.ask("POST", "/v1/jobs", R"({"command":["true"]})");
  }
  void append(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }
  std::unique_ptr<ReplyStream> open(const std::string& query) {
    auto reply = w_.ask("GET", "/v1/jobs/1/log" + query);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return std::move(reply.stream);
  }
  static std::string now(ReplyStream& stream) {
    std::string text;
    while (stream.pull(text) == ReplyStream::kData)
      ;
    return text;
  }
  TempDir dir_;
  std::string path_;
  World w_;
};

TEST_F(Logs, ComeInPiecesAndFromAnOffset) {
  append(std::string(200'000, 'a') + "end");
  auto stream = open("?offset=199999");
  EXPECT_EQ(now(*stream), "aend");
  stream = open("");
  std::string piece;
  EXPECT_EQ(stream->pull(piece), ReplyStream::kData);
  EXPECT_EQ(piece.size(), 65'536u);
  stream = open("?offset=999999999");
  EXPECT_EQ(now(*stream), "");
}

TEST_F(Logs, AreFollowedUntilTheAttemptEnds) {
  auto stream = open("?follow=1");  // not there yet
  std::string text;
  EXPECT_EQ(stream->pull(text), ReplyStream::kWait);
  append("one\n");
  EXPECT_EQ(now(*stream), "one\n");
  append("two\n");
  EXPECT_EQ(now(*stream), "two\n");
  EXPECT_EQ(stream->pull(text), ReplyStream::kWait);
  append("three\n");
  w_.service.end_log();
  EXPECT_EQ(now(*stream), "three\n");
  EXPECT_EQ(stream->pull(text), ReplyStream::kEnd);
}

TEST_F(Logs, ARotationLosesNothing) {
  append("one\n");
  auto stream = open("?follow=1");
  EXPECT_EQ(now(*stream), "one\n");
  append("two\n");
  std::filesystem::rename(path_, path_ + ".1");
  append("three\n");
  EXPECT_EQ(now(*stream), "two\nthree\n");
  append("four\n");
  std::filesystem::rename(path_, path_ + ".1");  // twice between two looks: the older of both is first
  append("five\n");
  std::filesystem::rename(path_, path_ + ".1");
  append("six\n");
  EXPECT_EQ(now(*stream), "four\nfive\nsix\n");
  std::filesystem::resize_file(path_, 0);
  append("7\n");
  EXPECT_EQ(now(*stream), "7\n");
}

TEST_F(Logs, BeginWithTheOlderSegment) {
  append("older\n");
  std::filesystem::rename(path_, path_ + ".1");
  append("newer\n");
  EXPECT_EQ(now(*open("")), "older\nnewer\n");
  EXPECT_EQ(now(*open("?offset=3")), "er\nnewer\n");
  EXPECT_EQ(now(*open("?offset=8")), "wer\n");
  EXPECT_EQ(now(*open("?offset=80")), "");
}

TEST_F(Logs, LinksAndDevicesAreNotRead) {
  std::filesystem::create_symlink("/etc/passwd", path_);
  EXPECT_EQ(w_.ask("GET", "/v1/jobs/1/log").status, 507);
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_EQ(w_.ask("GET", "/v1/jobs/1/log").status, 507);
  std::filesystem::remove(path_);
  w_.service.end_log();
  EXPECT_EQ(w_.ask("GET", "/v1/jobs/1/log").status, 404);
}

HttpRequest from(std::map<std::string, std::string, std::less<>> headers) {
  HttpRequest request;
  request.method = "POST";
  request.path = "/v1/jobs";
  request.headers = std::move(headers);
  return request;
}

int refused(std::map<std::string, std::string, std::less<>> headers, const HttpGuardOptions& options = {}) {
  auto request = from(std::move(headers));
  const auto reply = refuse(request, options);
  return reply ? reply->status : 0;
}

TEST(HttpGuard, PagesInABrowserAreRefused) {
  EXPECT_EQ(refused({}), 0);
  EXPECT_EQ(refused({{"sec-fetch-site", "none"}}), 0);
  for (const char* site : {"cross-site", "same-site", "same-origin", "anything"})
    EXPECT_EQ(refused({{"sec-fetch-site", site}}), 403) << site;
  for (const char* origin : {"https://evil.example", "null", "", "http://localhost"})
    EXPECT_EQ(refused({{"origin", origin}}), 403) << origin;
  HttpGuardOptions options;
  options.origins = {"https://board.example"};
  EXPECT_EQ(refused({{"origin", "https://board.example"}, {"sec-fetch-site", "cross-site"}}, options), 0);
  EXPECT_EQ(refused({{"origin", "https://board.example.evil"}}, options), 403);
  EXPECT_EQ(refused({{"sec-fetch-site", "same-origin"}, {"host", "board.example"}}, options), 0);
  EXPECT_EQ(refused({{"sec-fetch-site", "cross-site"}, {"host", "board.example"}}, options), 403);
}

TEST(HttpGuard, TcpNeedsTokenAndHost) {
  HttpGuardOptions options;
  options.tcp = true;
  options.tokens = {{"0123456789abcdef", {7, 8, false}}, {"operator-token-xx", {0, 0, true}}};
  options.hosts = {"Node1.example"};
  EXPECT_EQ(refused({{"host", "127.0.0.1:80"}}, options), 401);
  EXPECT_EQ(refused({{"host", "127.0.0.1:80"}, {"authorization", "Bearer 0123456789abcdee"}}, options), 401);
  EXPECT_EQ(refused({{"host", "127.0.0.1:80"}, {"authorization", "Basic 0123456789abcdef"}}, options), 401);
  EXPECT_EQ(refused({{"host", "127.0.0.1:80"}, {"authorization", "Bearer "}}, options), 401);
  for (const char* host : {"127.0.0.1:80", "[::1]:9", "localhost", "node1.example:443"})
    EXPECT_EQ(refused({{"host", host}, {"authorization", "Bearer 0123456789abcdef"}}, options), 0) << host;
  for (const char* host : {"", "evil.example", "node1.example.evil"})
    EXPECT_EQ(refused({{"host", host}, {"authorization", "Bearer 0123456789abcdef"}}, options), 421) << host;
  auto request = from({{"host", "localhost"}, {"authorization", "bearer operator-token-xx"}});
  request.caller = {5, 5, false};
  EXPECT_FALSE(refuse(request, options));
  EXPECT_EQ(request.caller.uid, 0u);
  EXPECT_TRUE(request.caller.operator_rights);
}

TEST(HttpGuard, BodiesAndHeadersHaveLimits) {
  EXPECT_EQ(refused({{"content-length", "5"}, {"content-type", "application/json"}}), 0);
  EXPECT_EQ(refused({{"content-length", "5"}, {"content-type", "Application/JSON; charset=utf-8"}}), 0);
  EXPECT_EQ(refused({{"content-length", "5"}}), 415);
  EXPECT_EQ(refused({{"content-length", "5"}, {"content-type", "text/plain"}}), 415);
  EXPECT_EQ(refused({{"transfer-encoding", "chunked"}, {"content-type", "application/x-www-form-urlencoded"}}), 415);
  EXPECT_EQ(refused({{"content-length", "0"}}), 0);
  EXPECT_EQ(refused({{"content-length", "4194305"}, {"content-type", "application/json"}}), 413);
  EXPECT_EQ(refused({{"x", std::string(40'000, 'x')}}), 431);
}

}  // namespace
}  // namespace smartmig
