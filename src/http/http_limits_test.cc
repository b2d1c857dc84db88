// Bounds of the server: large, slow and many requests leave room for others.
#include <sys/resource.h>

#include "support/http_world.h"

namespace smartmig {
namespace {

using namespace http_test;

TEST(HttpServer, OversizedAndMalformedRequestsAreBounded) {
  HttpWorld w;
  w.options.limits.max_body = 100'000;
  w.start();
  auto client = w.client();
  ASSERT_TRUE(
      client.send("POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "
                  "100001\r\n\r\n"));
  EXPECT_EQ(client.reply().first, 413);
  auto chunked = w.client();
  std::string text =
      "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 60; ++i) text += "1000\r\n" + std::string(4096, 'x') + "\r\n";
  ASSERT_TRUE(chunked.send(text + "0\r\n\r\n"));
  EXPECT_EQ(chunked.reply().first, 413);
  auto many = w.client();
  std::string headers = "GET /healthz HTTP/1.1\r\nHost: x\r\n";
  for (int i = 0; i < 100; ++i) headers += "X-" + std::to_string(i) + ": " + std::string(1000, 'y') + "\r\n";
  many.send(headers + "\r\n");
  EXPECT_EQ(many.reply().first, 431);
  auto less = w.client();
  headers.resize(40'000);
  headers.resize(headers.rfind("\r\n") + 2);
  less.send(headers + "\r\n");
  EXPECT_EQ(less.reply().first, 431);
  for (const char* bad :
       {"\r\n\r\n\r\n", "GET\r\n\r\n", "GET /healthz HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02garbage\r\n\r\n",
        "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n"}) {
    auto c = w.client();
    c.send(bad);
    const int status = c.reply(1).first;
    EXPECT_TRUE(status == 0 || (status >= 400 && status < 600)) << bad << " " << status;
  }
  EXPECT_EQ(w.client().ask("POST", "/v1/jobs", R"({"command":)").first, 400);
  EXPECT_EQ(w.client().ask("GET", "/healthz").first, 200);
}

TEST(HttpServer, RefusalsOfTheLibraryAreJsonToo) {
  HttpWorld w;
  w.start();
  const std::string large(200'000, 'y');
  const std::vector<std::pair<int, std::string>> bad = {
      {400, "GET /healthz HTTP/1.1\r\n\r\n"},  // no Host
      {400, "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n"},
      {413, "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n"},
      {505, "GET /healthz HTTP/7.0\r\nHost: x\r\n\r\n"},
      {431, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Large: " + large + "\r\n\r\n"},
      {405, "BREW /v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n"},
      {400,
       "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
       "zz\r\n"}};
  for (const auto& [status, request] : bad) {
    auto c = w.client();
    c.send(request);
    // The library's own refusals end the connection; ours does not.
    const std::string answer = c.read_until(status == 405 ? "}}\n" : "no such text", 30);
    EXPECT_TRUE(answer.starts_with(fmt::format("HTTP/1.1 {} ", status))) << request.substr(0, 80) << answer;
    EXPECT_EQ(answer.find("Content-Length:"), answer.rfind("Content-Length:")) << "answered once: " << answer;
    const auto json = Json::parse(answer.substr(answer.rfind("\r\n\r\n") + 4), nullptr, false);
    ASSERT_TRUE(json.is_object() && json.contains("error")) << request.substr(0, 80) << answer;
    EXPECT_EQ(json["error"]["code"], "invalid");
    EXPECT_FALSE(json["error"]["message"].get<std::string>().empty());
  }
  EXPECT_EQ(w.client().ask("GET", "/healthz").first, 200);
}

TEST(HttpServer, ABodyHasOneLength) {
  HttpWorld w;
  w.start();
  const std::string begin = "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
  for (const char* lengths :
       {"Content-Length: 2\r\nContent-Length: 2\r\n", "Content-Length: 2\r\ncontent-length: 40\r\n",
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
        "Transfer-Encoding : chunked\r\nContent-Length: 2\r\n", "Content-Length: 2\r\nTransfer-Encoding\t: chunked\r\n",
        "Content-Length : 2\r\n", "Transfer-Encoding: xchunked\r\n", "Transfer-Encoding: gzip, chunked\r\n",
        "Content-Length: 2\r\nHost: y\r\n"}) {
    auto c = w.client();
    c.send(begin + lengths + "\r\n{}GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::string answer = c.read_until("no such text", 30);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400")) << lengths << answer;
    EXPECT_EQ(answer.find("Content-Length:"), answer.rfind("Content-Length:"))
        << "what follows is not read as another request: " << lengths << answer;
  }
}

TEST(HttpServer, AnAddressIsReadToItsEnd) {
  HttpWorld w;
  w.start();
  using namespace std::string_literals;
  for (const std::string& target : {"/healthz\0/../v1/jobs"s, "/healthz\0"s, "/healthz?a=b\0c"s, "\0/healthz"s}) {
    auto c = w.client();
    c.send("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::string answer = c.read_until("no such text", 30);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400")) << answer;
  }
  EXPECT_EQ(w.client().ask("GET", "/healthz").first, 200);
}

TEST(HttpServer, ThreadSlowClientsAreCutWhateverTheyDrip) {
  HttpWorld w;
  w.options.limits.receive_s = 1;
  w.start();
  auto silent = w.client(), drips = w.client(), body = w.client(), answered = w.client();
  EXPECT_EQ(answered.ask("GET", "/healthz").first, 200);
  body.send("POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{");
  const auto begin = Clock::now();
  drips.send("GET /healthz HTTP/1.1\r\nHost: x\r\n");
  bool alive = true;
  while (alive && seconds_since(begin) < 60) {
    alive = drips.send("X: y\r\n") && !drips.closed(0.1);
    EXPECT_EQ(w.client().ask("GET", "/healthz").first, 200);
  }
  EXPECT_FALSE(alive);
  EXPECT_EQ(body.reply().first, 408);
  EXPECT_TRUE(silent.closed(30));
  EXPECT_EQ(answered.read_until("no such text", 30), "") << "one answer to a request";
}

TEST(HttpServer, OneUserCannotTakeEveryConnection) {
  HttpWorld w;
  w.options.limits.max_of_peer = 5;
  w.start();
  std::vector<std::unique_ptr<RawClient>> held;
  for (int i = 0; i < 5; ++i) {
    held.push_back(std::make_unique<RawClient>(w.options.socket));
    EXPECT_EQ(held.back()->ask("GET", "/healthz").first, 200);
  }
  EXPECT_EQ(w.client().reply(30).first, 429);
  held.pop_back();
  const auto begin = Clock::now();
  int status = 0;
  while (status != 200 && seconds_since(begin) < 30) status = w.client().ask("GET", "/healthz").first;
  EXPECT_EQ(status, 200);
}

TEST(HttpServer, WhoComesWhenAllPlacesAreTakenWaitsForOne) {
  HttpWorld w;
  w.options.limits.max_connections = 4;
  w.start();
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int i = 0; i < 4; ++i) {
    idle.push_back(std::make_unique<RawClient>(w.options.socket));
    ASSERT_EQ(idle.back()->ask("GET", "/healthz").first, 200);
  }
  RawClient late(w.options.socket);
  ASSERT_TRUE(late.connected());
  late.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(late.read_until("200", 0.3), "");
  idle.pop_back();
  EXPECT_EQ(late.reply().first, 200);
}

TEST(HttpServer, AShortageOfDescriptorsTurnsNobodyAway) {
  HttpWorld w;
  w.start();
  std::vector<std::unique_ptr<RawClient>> idle, late;
  for (int i = 0; i < 8; ++i) {
    idle.push_back(std::make_unique<RawClient>(w.options.socket));
    idle.back()->send("GET /healthz HT");
  }
  auto first = w.client();  // taken after them
  ASSERT_EQ(first.ask("GET", "/healthz").first, 200);
  for (int i = 0; i < 12; ++i) late.push_back(std::make_unique<RawClient>());
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::dup(0);
  ::close(next);
  const rlimit none{rlim_t(next), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto begin = Clock::now();
  for (std::size_t i = 0; i < late.size(); ++i) {
    late[i]->connect(w.options.socket);
    EXPECT_EQ(late[i]->ask("GET", "/healthz").first, 200)
        << i << ": the first eight get what is kept for them; those whose request does not come make room for the rest";
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(w.client().ask("GET", "/healthz").first, 200);
  EXPECT_LT(seconds_since(begin), 5);
  EXPECT_EQ(first.ask("GET", "/healthz").first, 200) << "it has just been answered";
}

TEST(HttpServer, AShortageOfDescriptorsLeavesAFewForNewConnections) {
  HttpWorld w;
  w.start();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::dup(0);
  ::close(next);
  const rlimit few{rlim_t(next) + 1, before.rlim_max};  // one more: the client's; no connection could make room
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto begin = Clock::now();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(w.client().ask("GET", "/healthz").first, 200) << i;
  EXPECT_LT(seconds_since(begin), 5);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(HttpServer, ThreadFiftyClientsAtOnce) {
  HttpWorld w;
  w.start();
  constexpr int kClients = 50, kEach = 20;
  std::atomic<int> accepted = 0;
  std::vector<std::thread> threads;
  for (int c = 0; c < kClients; ++c)
    threads.emplace_back([&] {
      auto client = w.client();
      for (int i = 0; i < kEach; ++i)
        accepted += client.ask("POST", "/v1/jobs", R"({"command":["sleep","1"]})").first == 201;
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(accepted, kClients * kEach);
  EXPECT_EQ(w.service.count(), std::size_t(kClients * kEach));
}

TEST(HttpServer, ThreadSlowAnswersLeaveRoomForOthers) {
  HttpWorld w;
  w.options.limits.workers = 2;
  w.service.hold_slow(true);
  w.start();
  std::vector<std::thread> threads;
  std::atomic<int> answered = 0;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back(
        [&] { answered += w.client().ask("POST", "/v1/whatif", "{\"policy\":\"edf\"}").first == 200; });
  EXPECT_TRUE(w.service.wait_for_slow(1));
  EXPECT_EQ(w.client().ask("GET", "/healthz").first, 200);
  EXPECT_EQ(answered, 0);
  w.service.hold_slow(false);
  for (auto& t : threads) t.join();
  EXPECT_EQ(answered, 3);
}

TEST(HttpServer, OneUserHasOnlySoManyStreams) {
  HttpWorld w;
  w.options.limits.max_streams = 20;
  w.options.limits.max_streams_of_peer = 3;
  w.start();
  w.service.say("started");
  std::vector<std::unique_ptr<RawClient>> streams;
  for (int i = 0; i < 3; ++i) {
    streams.push_back(std::make_unique<RawClient>(w.options.socket));
    streams.back()->send("GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_NE(streams.back()->read_until("id: 1\n").find("id: 1\n"), std::string::npos);
  }
  const auto [status, body] = w.client().ask("GET", "/v1/events");
  EXPECT_EQ(status, 429);
  EXPECT_NE(body.find("3 streams are open, the limit for one user"), std::string::npos) << body;
  EXPECT_EQ(w.client().ask("GET", "/v1/status").first, 200);

  HttpServerOptions page;  // strangers have streams of their own
  page.address = "127.0.0.1";
  page.plain = page.page = page.open_reading = true;
  page.limits = w.options.limits;
  auto second = HttpServer::start(w.api, page);
  ASSERT_TRUE(second) << second.error().what;
  RawClient stranger((*second)->port());
  stranger.send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_NE(stranger.read_until("id: 1\n").find("id: 1\n"), std::string::npos);
  streams.clear();
}

TEST(HttpServer, ThreadStreamsDoNotHoldWorkers) {
  HttpWorld w;
  w.options.limits.workers = 2;
  w.options.limits.max_streams = w.options.limits.max_streams_of_peer = 20;
  w.start();
  w.service.say("started");
  std::vector<std::unique_ptr<RawClient>> streams;
  for (int i = 0; i < 20; ++i) {
    streams.push_back(std::make_unique<RawClient>(w.options.socket));
    streams.back()->send("GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  for (auto& s : streams) EXPECT_NE(s->read_until("id: 1\n").find("id: 1\n"), std::string::npos);
  EXPECT_EQ(w.client().ask("GET", "/v1/events").first, 429);
  w.service.say("finished");
  for (auto& s : streams) EXPECT_NE(s->read_until("id: 2\nevent: finished").find("id: 2\n"), std::string::npos);
  EXPECT_EQ(w.client().ask("GET", "/healthz").first, 200);

  streams.resize(10);  // clients that leave make room
  auto late = w.client();
  const auto left = Clock::now();
  std::string head;
  while (head.find("200 OK") == head.npos && seconds_since(left) < 30) {
    RawClient one(w.options.socket);
    one.send("GET /v1/events?after=1 HTTP/1.1\r\nHost: x\r\n\r\n");
    head = one.read_until("id: 2\n", 1);
  }
  EXPECT_NE(head.find("id: 2\n"), std::string::npos);
  EXPECT_EQ(head.find("id: 1\n"), std::string::npos);
  w.server.reset();  // with ten streams open
  for (auto& s : streams) EXPECT_TRUE(s->closed(30));
}

TEST(HttpServer, ThreadAnIdleServerSleeps) {
  HttpWorld w;
  w.start();
  EXPECT_EQ(w.client().ask("GET", "/healthz").first, 200);
  const auto used = [] {
    rusage r{};
    ::getrusage(RUSAGE_SELF, &r);
    return double(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + 1e-6 * double(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
  };
  double least = 1;  // a server that polls does so in every window
  for (int window = 0; window < 5 && least >= 0.02; ++window) {
    const double before = used();
    std::this_thread::sleep_for(std::chrono::seconds(2));
    least = std::min(least, used() - before);
  }
  EXPECT_LT(least, 0.02);  // 1 % of a core
}

}  // namespace
}  // namespace smartmig
