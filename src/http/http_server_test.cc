// Who is answered: the socket's peer, holders of tokens, never a page of another site.
#include <sys/wait.h>

#include "support/http_world.h"

namespace smartmig {
namespace {

using namespace http_test;

TEST(HttpServer, ThreadAnswersOnAUnixSocketAndKnowsThePeer) {
  HttpWorld w;
  w.start();
  struct stat file {};
  ASSERT_EQ(::stat(w.options.socket.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0666u);
  ASSERT_EQ(::stat((w.dir.path() + "/run").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0755u);
  auto client = w.client();
  auto [status, body] = client.ask("POST", "/v1/jobs", R"({"command":["true"]})");
  EXPECT_EQ(status, 201) << body;
  EXPECT_EQ(Json::parse(body)["jobs"][0]["uid"], ::geteuid());
  EXPECT_NE(client.headers().find("X-Content-Type-Options: nosniff"), std::string::npos);
  EXPECT_EQ(client.headers().find("Access-Control"), std::string::npos);
  EXPECT_EQ(client.ask("GET", "/v1/jobs/1").first, 200);  // on the same connection
  EXPECT_EQ(client.ask("GET", "/v1/jobs/2").first, 404);
  EXPECT_TRUE(Json::parse(client.ask("GET", "/v1/status").second)["operator"]);
  w.server.reset();
  EXPECT_NE(::stat(w.options.socket.c_str(), &file), 0);
}

TEST(HttpServer, AnotherUserIsKnownAsSuch) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  HttpWorld w;
  ::chmod(w.dir.path().c_str(), 0755);
  w.start();
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(12345) != 0 || ::setuid(12345) != 0) ::_exit(9);
    RawClient client(w.options.socket);
    const auto status = Json::parse(client.ask("GET", "/v1/status").second, nullptr, false);
    const bool right = status.is_object() && status["uid"] == 12345 && status["operator"] == false;
    ::_exit(right && client.ask("POST", "/v1/gpus/1/drain").first == 403 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(HttpServer, ReplacesRemainsButNotALivingDaemon) {
  HttpWorld w;
  w.start();
  const auto second = HttpServer::start(w.api, w.options);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Error::kBusy);
  EXPECT_EQ(w.client().ask("GET", "/healthz").first, 200);  // and the first one still works
  w.server.reset();

  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);  // bound, then left behind by a crash
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  w.options.socket.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::close(fd);
  w.start();
  EXPECT_EQ(w.client().ask("GET", "/healthz").first, 200);
  w.server.reset();

  w.dir.file("run/api.sock", "a text");
  const auto refused = HttpServer::start(w.api, w.options);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(std::filesystem::exists(w.options.socket));
  w.options.socket = w.dir.path() + "/" + std::string(200, 'x');
  EXPECT_FALSE(HttpServer::start(w.api, w.options));
}

TEST(HttpServer, TcpIsRefusedWithoutTokenAndTls) {
  HttpWorld w;
  w.options.socket.clear();
  EXPECT_FALSE(HttpServer::start(w.api, w.options));
  w.options.address = "127.0.0.1";
  w.options.plain = true;
  EXPECT_FALSE(HttpServer::start(w.api, w.options));  // no token
  w.options.tokens = {{"short", {}}};
  EXPECT_FALSE(HttpServer::start(w.api, w.options));
  w.options.tokens = {{"0123456789abcdef", {1234, 1234, false}}};
  w.options.plain = false;
  EXPECT_FALSE(HttpServer::start(w.api, w.options));  // no certificate
  w.options.address = "0.0.0.0";
  w.options.plain = true;
  const auto open = HttpServer::start(w.api, w.options);
  ASSERT_FALSE(open);
  EXPECT_NE(open.error().what.find("loopback"), std::string::npos);
  w.options.address = "127.0.0.1";
  w.start();
  EXPECT_EQ(w.client().ask("GET", "/v1/status").first, 401);
  EXPECT_EQ(w.client().ask("GET", "/metrics").first, 401);
  const std::string token = "Authorization: Bearer 0123456789abcdef\r\n";
  auto client = w.client();
  const auto [status, body] = client.ask("GET", "/v1/status", "", token);
  EXPECT_EQ(status, 200);
  EXPECT_EQ(Json::parse(body)["uid"], 1234);
  EXPECT_EQ(w.client().ask("GET", "/v1/status", "", token + "Origin: http://localhost\r\n").first, 403);
}

TEST(HttpServer, PagesAreRefusedBeforeTheirBodyIsRead) {
  HttpWorld w;
  w.start();
  auto client = w.client();
  ASSERT_TRUE(
      client.send("POST /v1/jobs HTTP/1.1\r\nHost: x\r\nOrigin: https://evil.example\r\nContent-Type: "
                  "application/json\r\nContent-Length: 1000000\r\n\r\n"));
  EXPECT_EQ(client.reply().first, 403);
  EXPECT_EQ(w.client().ask("POST", "/v1/jobs", R"({"command":["x"]})", "Sec-Fetch-Site: cross-site\r\n").first, 403);
  EXPECT_EQ(w.service.count(), 0u);
}

TEST(HttpServer, ThreadALogIsFollowed) {
  HttpWorld w;
  w.service.log_path = w.dir.file("log", "one\n");
  w.start();
  ASSERT_EQ(w.client().ask("POST", "/v1/jobs", R"({"command":["x"]})").first, 201);
  auto follower = w.client();
  follower.send("GET /v1/jobs/1/log?follow=1 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(follower.read_until("one\n").find("one\n"), std::string::npos);
  std::ofstream(w.service.log_path, std::ios::app) << "two\n";
  EXPECT_NE(follower.read_until("two\n").find("two\n"), std::string::npos);
  std::ofstream(w.service.log_path, std::ios::app) << "three\n";
  w.service.end_log();
  const std::string all = follower.read_until("\r\n0\r\n\r\n");
  EXPECT_NE(all.find("three\n"), std::string::npos);
  EXPECT_TRUE(all.ends_with("\r\n0\r\n\r\n"));
}

}  // namespace
}  // namespace smartmig
