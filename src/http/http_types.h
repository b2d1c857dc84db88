// A request and its reply as plain values, so that everything above the sockets is a function from one to the other:
// tests and the fuzzer call it without a server. Names of headers are lower-case. Nothing here blocks.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "queue/answers/service.h"

namespace smartmig {

inline constexpr std::size_t kMostBodyBytes = 4 << 20;  // of a request

struct HttpRequest {
  std::string method;
  std::string path;                                         // up to the '?', as sent: no route needs an escape
  std::vector<std::pair<std::string, std::string>> query;   // decoded, in order
  std::map<std::string, std::string, std::less<>> headers;  // of a repeated one the last; see take_header
  std::string body;
  std::string malformed;  // why a proxy may read it otherwise than we do; empty: it cannot. Such a request is refused
  Caller caller;
  std::string header(std::string_view name) const {
    const auto at = headers.find(name);
    return at == headers.end() ? std::string() : at->second;
  }
};

// A body that is made while it is sent. One thread at a time calls it, not always the same one.
class ReplyStream {
 public:
  enum Step { kData, kWait, kEnd };
  virtual ~ReplyStream() = default;
  // Appends a bounded piece to `out` (kData); kWait: nothing now, ask again later; kEnd: the body is complete.
  virtual Step pull(std::string& out) = 0;
  // Blocks up to `seconds` until there may be something; false: it cannot tell, the caller has to sleep by itself.
  virtual bool wait(double /*seconds*/) { return false; }
};

struct HttpReply {
  int status = 200;
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::unique_ptr<ReplyStream> stream;  // in place of the body
};

class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  virtual HttpReply handle(const HttpRequest& request) = 0;         // from any thread
  virtual bool is_slow(const HttpRequest&) const { return false; }  // may take seconds: never fills all workers
};

// Adds a header as it was sent. Sets HttpRequest::malformed where it makes a second length, coding or Host, where its
// name holds what no name may, or where the coding is not "chunked".
void take_header(HttpRequest& request, std::string_view name, std::string_view value);

// Splits "/v1/jobs?state=active" and decodes the query. kInvalid: no path, a bad escape, more than 32 parameters.
Result<Ok> parse_target(std::string_view target, HttpRequest& request);

HttpReply error_reply(int status, std::string_view code, std::string_view message);
HttpReply error_reply(const Error& error);  // the status that goes with its code

}  // namespace smartmig
