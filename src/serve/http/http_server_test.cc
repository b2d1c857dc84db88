#include "serve/http/http_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "serve/http/api.h"
#include "support/fake_service.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// A client that sends exactly the bytes it is told to.
class RawClient {
 public:
  explicit RawClient(const std::string& path) {
    fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  explicit RawClient(int port) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(std::uint16_t(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawClient() { ::close(fd_); }
  bool connected() const { return connected_; }
  bool send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      text.remove_prefix(std::size_t(n));
    }
    return true;
  }
  // Until `enough` is there, the peer closes, or the time is over.
  std::string read_until(const std::string& enough, double limit_s = 10) {
    const auto end = Clock::now() + std::chrono::duration<double>(limit_s);
    while (got_.find(enough) == got_.npos && Clock::now() < end) {
      pollfd look{fd_, POLLIN, 0};
      if (::poll(&look, 1, 50) <= 0) continue;
      char buffer[65536];
      const ssize_t n = ::recv(fd_, buffer, sizeof buffer, 0);
      if (n <= 0) break;
      got_.append(buffer, std::size_t(n));
    }
    return got_;
  }
  // The next reply with a Content-Length: status and body.
  std::pair<int, std::string> reply(double limit_s = 10) {
    const std::string head = read_until("\r\n\r\n", limit_s);
    const auto at = head.find("\r\n\r\n");
    if (at == head.npos) return {0, head};
    headers_ = head.substr(0, at);
    std::size_t length = 0;
    for (const char* name : {"Content-Length: ", "content-length: "})
      if (const auto where = headers_.find(name); where != headers_.npos)
        length = std::stoul(headers_.substr(where + 16));
    const auto end = Clock::now() + std::chrono::duration<double>(limit_s);
    while (got_.size() < at + 4 + length && Clock::now() < end) {
      char buffer[65536];
      const ssize_t n = ::recv(fd_, buffer, sizeof buffer, 0);
      if (n <= 0) break;
      got_.append(buffer, std::size_t(n));
    }
    const std::string body = got_.substr(at + 4, length);
    got_.erase(0, at + 4 + length);
    return {std::stoi(headers_.substr(9, 3)), body};
  }
  std::pair<int, std::string> ask(const std::string& method, const std::string& target, const std::string& body = "",
                                  const std::string& more = "") {
    std::string text = method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n" + more;
    if (!body.empty())
      text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
    if (!send(text + "\r\n" + body)) return {0, ""};
    return reply();
  }
  bool closed(double limit_s) {
    pollfd look{fd_, POLLIN | POLLRDHUP, 0};
    return ::poll(&look, 1, int(limit_s * 1000)) > 0 && (look.revents & (POLLRDHUP | POLLHUP));
  }
  const std::string& headers() const { return headers_; }

 private:
  int fd_ = -1;
  bool connected_ = false;
  std::string got_, headers_;
};

struct HttpWorld {
  TempDir dir;
  FakeService service;
  Api api{service, "test"};
  HttpServerOptions options;
  std::unique_ptr<HttpServer> server;
  HttpWorld() { options.socket = dir.path() + "/run/api.sock"; }
  ~HttpWorld() { service.close(); }
  void start() {
    auto made = HttpServer::start(api, options);
    ASSERT_TRUE(made) << made.error().what;
    server = std::move(*made);
  }
  RawClient client() { return server->port() ? RawClient(server->port()) : RawClient(options.socket); }
};

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

TEST(HttpServer, OversizedAndMalformedRequestsAreBounded) {
  HttpWorld w;
  w.options.max_body = 100'000;
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

TEST(HttpServer, ThreadSlowClientsAreCutWhateverTheyDrip) {
  HttpWorld w;
  w.options.receive_s = 1;
  w.start();
  auto silent = w.client(), drips = w.client(), body = w.client();
  body.send("POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{");
  const auto begin = Clock::now();
  drips.send("GET /healthz HTTP/1.1\r\nHost: x\r\n");
  bool alive = true;
  while (alive && seconds_since(begin) < 8) {
    alive = drips.send("X: y\r\n") && !drips.closed(0.1);
    EXPECT_EQ(w.client().ask("GET", "/healthz").first, 200);
  }
  EXPECT_FALSE(alive);
  EXPECT_LT(seconds_since(begin), 5);
  EXPECT_EQ(body.reply().first, 408);
  EXPECT_TRUE(silent.closed(5));
}

TEST(HttpServer, OneUserCannotTakeEveryConnection) {
  HttpWorld w;
  w.options.max_of_peer = 5;
  w.start();
  std::vector<std::unique_ptr<RawClient>> held;
  for (int i = 0; i < 5; ++i) {
    held.push_back(std::make_unique<RawClient>(w.options.socket));
    EXPECT_EQ(held.back()->ask("GET", "/healthz").first, 200);
  }
  EXPECT_EQ(w.client().reply(5).first, 429);
  held.pop_back();
  const auto begin = Clock::now();
  int status = 0;
  while (status != 200 && seconds_since(begin) < 5) status = w.client().ask("GET", "/healthz").first;
  EXPECT_EQ(status, 200);
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
  w.options.workers = 2;
  w.service.slow_s = 0.5;
  w.start();
  std::vector<std::thread> threads;
  std::atomic<int> answered = 0;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back(
        [&] { answered += w.client().ask("POST", "/v1/whatif", "{\"policy\":\"edf\"}").first == 200; });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const auto begin = Clock::now();
  EXPECT_EQ(w.client().ask("GET", "/healthz").first, 200);
  EXPECT_LT(seconds_since(begin), 0.4);
  for (auto& t : threads) t.join();
  EXPECT_EQ(answered, 3);
}

TEST(HttpServer, ThreadStreamsDoNotHoldWorkers) {
  HttpWorld w;
  w.options.workers = 2;
  w.options.max_streams = 20;
  w.start();
  w.service.say("started");
  std::vector<std::unique_ptr<RawClient>> streams;
  for (int i = 0; i < 20; ++i) {
    streams.push_back(std::make_unique<RawClient>(w.options.socket));
    streams.back()->send("GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  for (auto& s : streams) EXPECT_NE(s->read_until("id: 1\n").find("id: 1\n"), std::string::npos);
  EXPECT_EQ(w.client().ask("GET", "/v1/events").first, 429);
  const auto begin = Clock::now();
  w.service.say("finished");
  for (auto& s : streams) EXPECT_NE(s->read_until("id: 2\nevent: finished").find("id: 2\n"), std::string::npos);
  EXPECT_LT(seconds_since(begin), 2);
  EXPECT_EQ(w.client().ask("GET", "/healthz").first, 200);

  streams.resize(10);  // clients that leave make room
  auto late = w.client();
  const auto left = Clock::now();
  std::string head;
  while (head.find("200 OK") == head.npos && seconds_since(left) < 5) {
    RawClient one(w.options.socket);
    one.send("GET /v1/events?after=1 HTTP/1.1\r\nHost: x\r\n\r\n");
    head = one.read_until("id: 2\n", 1);
  }
  EXPECT_NE(head.find("id: 2\n"), std::string::npos);
  EXPECT_EQ(head.find("id: 1\n"), std::string::npos);
  w.server.reset();  // with ten streams open
  for (auto& s : streams) EXPECT_TRUE(s->closed(2));
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

TEST(HttpServer, ThreadAnIdleServerSleeps) {
  HttpWorld w;
  w.start();
  EXPECT_EQ(w.client().ask("GET", "/healthz").first, 200);
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  std::this_thread::sleep_for(std::chrono::seconds(2));
  ::getrusage(RUSAGE_SELF, &after);
  const auto used = [](const rusage& r) {
    return double(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + 1e-6 * double(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
  };
  EXPECT_LT(used(after) - used(before), 0.02);  // 1 % of a core
}

}  // namespace
}  // namespace smartmig
