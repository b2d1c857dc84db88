// The API over a service in memory, asked without a server.
#pragma once
#include <gtest/gtest.h>

#include <fstream>

#include "http/api.h"
#include "support/fake_service.h"
#include "support/temp_dir.h"

namespace smartmig::api_test {

using Json = nlohmann::json;

struct ApiWorld {
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

inline std::string all_of(ReplyStream& stream) {
  std::string text;
  while (stream.pull(text) == ReplyStream::kData)
    ;
  return text;
}

}  // namespace smartmig::api_test
