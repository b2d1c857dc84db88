#include "http/page.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "http/api_routes.h"

namespace smartmig {
namespace {

class Rest final : public HttpHandler {
 public:
  HttpReply handle(const HttpRequest& request) override {
    HttpReply reply;
    reply.body = "rest " + request.path;
    return reply;
  }
};

HttpReply ask_page(const char* path, const char* method = "GET") {
  Rest rest;
  PageHandler page(rest);
  HttpRequest request;
  request.method = method;
  request.path = path;
  return page.handle(request);
}

TEST(Page, HandsOnWhatIsNotIts) {
  EXPECT_EQ(ask_page("/v1/status").body, "rest /v1/status");
  EXPECT_EQ(ask_page("/", "POST").status, 405);
  for (const ApiRoute& route : api_routes()) EXPECT_FALSE(is_page_path(route.pattern)) << route.pattern;
}

TEST(Page, FilesComeWithAPolicyOrTheWayToGetThem) {
  const HttpReply front = ask_page("/");
  if (!has_page()) {
    EXPECT_EQ(front.status, 404);
    EXPECT_NE(front.body.find("SMARTMIG_WEB"), std::string::npos) << front.body;
    return;
  }
  EXPECT_EQ(front.status, 200);
  EXPECT_EQ(front.type, "text/html; charset=utf-8");
  std::string policy;
  for (const auto& [name, value] : front.headers)
    if (name == "Content-Security-Policy") policy = value;
  EXPECT_NE(policy.find("script-src 'self'"), std::string::npos);
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_EQ(front.body.find("<script>"), std::string::npos);
  EXPECT_TRUE(std::any_of(front.headers.begin(), front.headers.end(), [](const auto& h) { return h.first == "ETag"; }));
  EXPECT_EQ(ask_page("/page/app.js").type, "text/javascript; charset=utf-8");
  EXPECT_EQ(ask_page("/job/12").body, front.body) << "the page of one job";
  EXPECT_EQ(ask_page("/page/app.css").status, 200);
  EXPECT_EQ(ask_page("/page/../queue.db").status, 404);
}

TEST(Page, StrangersMayAskWhatChangesNothing) {
  EXPECT_TRUE(only_reads("GET", "/v1/jobs"));
  EXPECT_TRUE(only_reads("POST", "/v1/whatif"));
  EXPECT_TRUE(only_reads("POST", "/v1/jobs/reasons"));
  for (const ApiRoute& route : api_routes()) {
    if (std::string_view(route.method) == "GET" || route.asks) continue;
    EXPECT_FALSE(only_reads(route.method, route.pattern)) << route.method << " " << route.pattern;
  }
}

}  // namespace
}  // namespace smartmig
