#include "http/http_types.h"

#include <optional>

#include "base/errors.h"
#include "base/json.h"
#include "base/text.h"

namespace smartmig {
namespace {

int status_of(Error::Code code) {
  switch (code) {
    case Error::kInvalid:
      return 400;
    case Error::kNotFound:
      return 404;
    case Error::kBusy:
      return 409;
    case Error::kNoPermission:
      return 403;
    case Error::kUnsupported:
      return 501;
    case Error::kLost:
      return 503;
    case Error::kTimeout:
      return 504;
    case Error::kIo:
      return 507;
  }
  return 500;
}

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      if (i + 2 >= text.size() || hex(text[i + 1]) < 0 || hex(text[i + 2]) < 0) return std::nullopt;
      out += char(hex(text[i + 1]) * 16 + hex(text[i + 2]));
      i += 2;
    }
  }
  return out;
}

}  // namespace

void take_header(HttpRequest& request, std::string_view sent_name, std::string_view value) {
  const std::string name = lower(sent_name);
  const bool length = name == "content-length", coding = name == "transfer-encoding";
  const bool again = request.headers.contains(name);
  const auto refuse = [&](const char* why) {
    if (request.malformed.empty()) request.malformed = why;
  };
  // RFC 9110: a token. "Transfer-Encoding : chunked" is a coding for some and an unknown header for others.
  constexpr std::string_view kToken = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz";
  if (name.empty() || name.find_first_not_of(kToken) != name.npos)
    refuse("the name of a header has a character that is not allowed");
  if (again && name == "host") refuse("the Host header is given twice");
  if ((again && (length || coding)) || (length && request.headers.contains("transfer-encoding")) ||
      (coding && request.headers.contains("content-length")))
    refuse("the length of the body is given twice or together with Transfer-Encoding");
  if (coding && lower(trim(value)) != "chunked") refuse("the only supported Transfer-Encoding is chunked");
  request.headers.insert_or_assign(name, std::string(value));
}

Result<Ok> parse_target(std::string_view target, HttpRequest& request) {
  if (target.empty() || target[0] != '/') return invalid("the request has no path; write /v1/...");
  const auto mark = target.find('?');
  request.path = target.substr(0, mark);
  request.query.clear();
  if (mark == target.npos) return Ok{};
  std::string_view rest = target.substr(mark + 1);
  while (!rest.empty()) {
    const auto end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (pair.empty()) continue;
    const auto equals = std::min(pair.find('='), pair.size());
    auto name = decoded(pair.substr(0, equals));
    auto value = decoded(equals < pair.size() ? pair.substr(equals + 1) : std::string_view());
    if (!name || !value) return invalid("a parameter after '?' has a bad escape; write %25 for a percent sign");
    if (request.query.size() == 32) return invalid("more than 32 parameters after '?'");
    request.query.emplace_back(std::move(*name), std::move(*value));
  }
  return Ok{};
}

HttpReply error_reply(int status, std::string_view code, std::string_view message) {
  HttpReply reply;
  reply.status = status;
  const nlohmann::json body = {{"error", {{"code", code}, {"message", message}}}};
  reply.body = json_dump(body) + "\n";
  return reply;
}

HttpReply error_reply(const Error& error) {
  return error_reply(status_of(error.code), code_name(error.code), error.what);
}

}  // namespace smartmig
