// The API as a function from request to reply over a Service: routing, strict parameters, JSON in and out, errors as
// {"error":{"code","message"}}. Holds no state, opens no socket; any thread may call it. docs/api.md has the answers.
#pragma once
#include "http/api_routes.h"
#include "http/http_types.h"

namespace smartmig {

class Api final : public HttpHandler {
 public:
  Api(Service& service, std::string version) : service_(service), version_(std::move(version)) {}
  HttpReply handle(const HttpRequest& request) override;
  bool is_slow(const HttpRequest& request) const override;

 private:
  Service& service_;
  std::string version_;
};

}  // namespace smartmig
