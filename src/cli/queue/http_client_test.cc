#include "cli/queue/http_client.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "http/api.h"
#include "http/http_server.h"
#include "support/fake_service.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

using Json = nlohmann::json;

struct World {
  TempDir dir;
  FakeService service;
  Api api{service, "test"};
  HttpServerOptions options;
  ClientTarget target;
  std::unique_ptr<HttpServer> server;
  World() { target.socket = options.socket = dir.path() + "/api.sock"; }
  ~World() { service.close(); }
  void start() {
    auto made = HttpServer::start(api, options);
    ASSERT_TRUE(made) << made.error().what;
    server = std::move(*made);
  }
  HttpClient client() {
    auto made = HttpClient::open(target);
    SMARTMIG_CHECK(bool(made), "{}", made.error().what);
    return std::move(*made);
  }
};

TEST(HttpClient, AsksAndIsToldErrorsAsTheyWere) {
  World w;
  w.start();
  auto client = w.client();
  const auto made = client.post("/v1/jobs", {{"command", {"true"}}});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ((*made)["ids"], Json::array({1}));
  EXPECT_EQ((*client.get("/v1/jobs/1"))["state"], "queued");
  EXPECT_EQ((*client.remove("/v1/jobs/1"))["state"], "cancelled");
  const auto again = client.remove("/v1/jobs/1");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Error::kBusy);
  EXPECT_EQ(again.error().what, "the job has ended");
  EXPECT_EQ(client.get("/v1/jobs/9").error().code, Error::kNotFound);
  EXPECT_EQ(client.post("/v1/reload").error().code, Error::kUnsupported);
  EXPECT_EQ(*client.text("/metrics"), "smartmig_up 1\n");
  EXPECT_EQ((*client.get("/v1/jobs?user=" + url_escape("0")))["jobs"].size(), ::geteuid() == 0 ? 1u : 0u);
  Json large = {{"command", {"x"}}, {"script", std::string(5 << 20, 'x')}};
  const auto refused = client.post("/v1/jobs", large);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::kInvalid) << refused.error().what;
}

TEST(HttpClient, SaysWhatToDoWithoutADaemon) {
  World w;
  auto client = w.client();
  const auto lost = client.get("/v1/status");
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Error::kLost);
  EXPECT_EQ(lost.error().what, "no daemon answers at " + w.target.socket + ": start one with smartmig serve");
  w.target.server = "http://example.org";
  EXPECT_FALSE(HttpClient::open(w.target));
  w.target.server = "https://example.org";
  const auto no_token = HttpClient::open(w.target);
  ASSERT_FALSE(no_token);
  EXPECT_NE(no_token.error().what.find("SMARTMIG_TOKEN"), std::string::npos);
}

TEST(HttpClient, ThreadFollowsEventsAndLogs) {
  World w;
  w.service.log_path = w.dir.file("log", "hello\n");
  w.start();
  for (int i = 0; i < 300; ++i) w.service.say("started");
  auto client = w.client();
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    w.service.say("finished");
  });
  std::vector<std::uint64_t> seen;
  const auto done = client.events(10, [&](const HttpClient::Event& event) {
    seen.push_back(event.sequence);
    EXPECT_TRUE(Json::accept(event.data));
    return event.name != "finished";
  });
  later.join();
  ASSERT_TRUE(done) << done.error().what;
  ASSERT_EQ(seen.size(), 291u);
  EXPECT_EQ(seen.front(), 11u);
  EXPECT_EQ(seen.back(), 301u);

  ASSERT_TRUE(client.post("/v1/jobs", {{"command", {"true"}}}));
  std::string log;
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::ofstream(w.service.log_path, std::ios::app) << "world\n";
    w.service.end_log();
  });
  const auto followed = client.stream("/v1/jobs/1/log?follow=1", [&](std::string_view bytes) {
    log += bytes;
    return true;
  });
  writer.join();
  ASSERT_TRUE(followed) << followed.error().what;
  EXPECT_EQ(log, "hello\nworld\n");
  EXPECT_EQ(client.stream("/v1/jobs/8/log", [](std::string_view) { return true; }).error().code, Error::kNotFound);
}

TEST(HttpClient, ThreadTlsWithTokenAndAuthority) {
  World w;
  const std::string key = w.dir.path() + "/key.pem", certificate = w.dir.path() + "/cert.pem";
  const std::string command = fmt::format(
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext "
      "subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout {} -out {} 2>/dev/null",
      key, certificate);
  if (std::system(command.c_str()) != 0) GTEST_SKIP() << "needs the openssl program to make a certificate";
  w.options.socket.clear();
  w.options.address = "127.0.0.1";
  w.options.tokens = {{"a-token-of-some-length", {4321, 4321, false}}};
  w.options.certificate_file = certificate;
  w.options.key_file = key;
  w.start();
  w.target.server = fmt::format("https://localhost:{}", w.server->port());
  w.target.token = "a-token-of-some-length";
  const auto distrust = w.client().get("/v1/status");
  ASSERT_FALSE(distrust);
  EXPECT_NE(distrust.error().what.find("--cacert"), std::string::npos) << distrust.error().what;
  w.target.cacert = certificate;
  const auto status = w.client().get("/v1/status");
  ASSERT_TRUE(status) << status.error().what;
  EXPECT_EQ((*status)["uid"], 4321);
  w.service.say("started");
  const auto events = w.client().events(0, [](const HttpClient::Event& e) { return e.sequence != 1; });
  EXPECT_TRUE(events) << events.error().what;
  w.target.token = "another-token-of-length";
  const auto refused = w.client().get("/v1/status");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::kNoPermission);
  EXPECT_NE(refused.error().what.find("SMARTMIG_TOKEN"), std::string::npos);
  w.server.reset();
  w.options.certificate_file = key;
  EXPECT_FALSE(HttpServer::start(w.api, w.options));
}

TEST(EventReader, TakesBytesAsTheyCome) {
  const std::string text =
      ": hello\n\nid: 7\nevent: started\ndata: {\"a\":\ndata: 1}\n\nid: 8\r\ndata: x\r\n\r\n:\n\ndata: y\n\n";
  for (std::size_t step = 1; step < 20; ++step) {
    std::vector<HttpClient::Event> events;
    EventReader reader([&](const HttpClient::Event& e) {
      events.push_back(e);
      return e.data != "x";
    });
    bool going = true;
    for (std::size_t at = 0; at < text.size() && going; at += step) going = reader.feed(text.substr(at, step));
    EXPECT_FALSE(going);
    ASSERT_EQ(events.size(), 2u) << step;
    EXPECT_EQ(events[0].sequence, 7u);
    EXPECT_EQ(events[0].name, "started");
    EXPECT_EQ(events[0].data, "{\"a\":\n1}");
    EXPECT_EQ(events[1].sequence, 8u);
  }
}

}  // namespace
}  // namespace smartmig
