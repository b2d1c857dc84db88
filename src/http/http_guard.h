// Decides by the headers alone which requests are allowed, before a byte of the body is kept. A page in a browser
// always sends Origin or Sec-Fetch-Site with what it asks of another site, and cannot leave them out: such requests are
// refused unless the origin is configured. No CORS header is ever given. On TCP every request shows a token, and the
// Host header must be an address, localhost or a configured name, which stops a foreign name that was made to point
// here.
//
// Where the server has the page (page.h), the page's own files are for everybody, and what it asks of the server it
// came from is not foreign: the origin's host is the Host header's. With `open_reading` a request without a token is a
// stranger's, who may look (api_routes.h: only_reads) but change nothing. A wrong token is refused all the same.
#pragma once
#include <optional>

#include "http/http_types.h"

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
  bool page = false, open_reading = false;  // TCP only
};

bool same_secret(std::string_view a, std::string_view b);  // in a time that tells nothing but the lengths

// Nothing: go on, and request.caller is set on TCP. Otherwise the refusal: 400, 401, 403, 413, 415, 421 or 431.
std::optional<HttpReply> refuse(HttpRequest& request, const HttpGuardOptions& options);

}  // namespace smartmig
