#include "http/http_guard.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

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

TEST(HttpGuard, ThePageAsksItsOwnServerAndStrangersOnlyLook) {
  HttpGuardOptions options;
  options.tcp = options.page = options.open_reading = true;
  options.tokens = {{"0123456789abcdef", {7, 8, false}}};
  const auto status = [&](const char* method, const char* path,
                          std::map<std::string, std::string, std::less<>> headers) {
    auto request = from(std::move(headers));
    request.method = method;
    request.path = path;
    request.caller = {5, 5, true};
    const auto reply = refuse(request, options);
    if (!reply && !request.headers.contains("authorization")) {
      EXPECT_FALSE(request.caller.known());
      EXPECT_FALSE(request.caller.operator_rights);
    }
    return reply ? reply->status : 0;
  };
  const std::string host = "127.0.0.1:7480", own = "http://127.0.0.1:7480", token = "Bearer 0123456789abcdef";
  EXPECT_EQ(status("GET", "/v1/status", {{"host", host}, {"sec-fetch-site", "same-origin"}}), 0);
  EXPECT_EQ(status("POST", "/v1/whatif", {{"host", host}, {"origin", own}}), 0);
  EXPECT_EQ(status("POST", "/v1/jobs", {{"host", host}, {"origin", own}}), 401);
  EXPECT_EQ(status("DELETE", "/v1/jobs/1", {{"host", host}, {"origin", own}}), 401);
  EXPECT_EQ(status("POST", "/v1/jobs", {{"host", host}, {"origin", own}, {"authorization", token}}), 0);
  EXPECT_EQ(status("GET", "/v1/status", {{"host", host}, {"authorization", "Bearer 0123456789abcdee"}}), 401);
  // Another page, another port of this machine, another name that points here.
  EXPECT_EQ(status("POST", "/v1/whatif", {{"host", host}, {"origin", "http://127.0.0.1:8000"}}), 403);
  EXPECT_EQ(status("POST", "/v1/jobs", {{"host", host}, {"origin", "https://evil.example"}, {"authorization", token}}),
            403);
  EXPECT_EQ(status("GET", "/v1/status", {{"host", host}, {"sec-fetch-site", "cross-site"}}), 403);
  EXPECT_EQ(status("GET", "/v1/status", {{"host", "evil.example"}, {"sec-fetch-site", "same-origin"}}), 421);
  // A link from elsewhere leads to the page, which holds no data.
  EXPECT_EQ(status("GET", "/", {{"host", host}, {"sec-fetch-site", "cross-site"}}), 0);
  EXPECT_EQ(status("GET", "/page/app.js", {{"host", host}, {"sec-fetch-site", "same-origin"}}), 0);
  options.open_reading = false;
  EXPECT_EQ(status("GET", "/", {{"host", host}}), 0);
  EXPECT_EQ(status("GET", "/v1/status", {{"host", host}}), 401);
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
