// The API as a function from request to reply: whatever the request line, headers and body, it answers with a known
// status and, where it says JSON, with JSON; streams end or wait. Input: METHOD TARGET, then header lines "name:
// value", an empty line, the body.
#include <cstddef>
#include <cstdint>

#include "base/text.h"
#include "fuzz/target.h"
#include "http/api.h"
#include "http/http_guard.h"
#include "support/fake_service.h"

namespace {

using namespace smartmig;

void look_at(HttpReply reply) {
  SMARTMIG_CHECK(reply.status >= 200 && reply.status < 600, "status {}", reply.status);
  if (reply.stream) {
    std::string text;
    for (int i = 0; i < 100 && reply.stream->pull(text) == ReplyStream::kData; ++i) text.clear();
  } else if (reply.type == "application/json") {
    SMARTMIG_CHECK(nlohmann::json::accept(reply.body), "no JSON: {}", reply.body);
  }
}

std::string_view cut(std::string_view& text, char at) {
  const auto end = std::min(text.find(at), text.size());
  const std::string_view piece = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return piece;
}

}  // namespace

SMARTMIG_FUZZ_TARGET(http_api) {
  FakeService service;
  service.log_path = "/nonexistent/log";
  service.log_ended = true;
  Api api(service, "fuzz");
  HttpRequest first;
  first.method = "POST";
  first.path = "/v1/jobs";
  first.body = "{\"command\":[\"true\"]}";
  look_at(api.handle(first));

  std::string_view text(reinterpret_cast<const char*>(data), size);
  HttpRequest request;
  std::string_view line = cut(text, '\n');
  request.method = cut(line, ' ');
  const bool parsed = bool(parse_target(line, request));
  for (line = cut(text, '\n'); !line.empty(); line = cut(text, '\n')) {
    const std::string_view name = cut(line, ':');
    take_header(request, name, trim(line));
  }
  request.body = text;
  HttpGuardOptions tcp;
  tcp.tcp = true;
  tcp.tokens = {{"0123456789abcdef", {}}};
  for (const HttpGuardOptions& options : {HttpGuardOptions{}, tcp})
    if (auto refusal = refuse(request, options)) look_at(std::move(*refusal));
  if (parsed) {
    (void)api.is_slow(request);
    look_at(api.handle(request));
  }
  return 0;
}
