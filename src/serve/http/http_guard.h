// Who may ask at all, judged on the headers alone, before a byte of the body is kept. A page in a browser always sends
// Origin or Sec-Fetch-Site with what it asks of another site, and cannot leave them out: such requests are refused
// unless the origin is configured. No CORS header is ever given. On TCP every request shows a token, and the Host
// header must be an address, localhost or a configured name, which stops a foreign name that was made to point here.
#pragma once
#include <optional>

#include "serve/http/http_types.h"

namespace smartmig {

struct HttpToken {
  std::string token;  // at least 16 bytes
  Caller caller;      // who shows it is taken for
};

struct HttpGuardOptions {
  bool tcp = false;
  std::vector<HttpToken> tokens;          // TCP only
  std::vector<std::string> hosts;         // names that clients may use for this machine
  std::vector<std::string> origins;       // "https://board.example.org": pages that may ask
  std::size_t max_body = kMostBodyBytes;  // bytes
  std::size_t max_headers = 32 << 10;
};

bool same_secret(std::string_view a, std::string_view b);  // in a time that tells nothing but the lengths

// Nothing: go on, and request.caller is set on TCP. Otherwise the refusal: 400, 401, 403, 413, 415, 421 or 431.
std::optional<HttpReply> refuse(HttpRequest& request, const HttpGuardOptions& options);

}  // namespace smartmig
