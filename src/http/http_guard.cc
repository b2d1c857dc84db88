#include "http/http_guard.h"

#include <algorithm>

#include "base/text.h"
#include "http/api_routes.h"
#include "http/page.h"

namespace smartmig {
namespace {

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool is_address(std::string_view host) {
  if (host.starts_with('[')) return true;
  return !host.empty() &&
         std::all_of(host.begin(), host.end(), [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
}

bool host_allowed(const std::string& header, const HttpGuardOptions& options) {
  std::string host = lower(header);
  const auto colon = host.rfind(':');
  if (colon != host.npos && host.find(']', colon) == host.npos) host.resize(colon);
  if (is_address(host) || host == "localhost") return true;
  return std::any_of(options.hosts.begin(), options.hosts.end(), [&](const auto& name) { return lower(name) == host; });
}

bool from_a_page(const HttpRequest& request, const HttpGuardOptions& options) {
  const std::string host = request.header("host");
  const auto known = [&](const std::string& origin) {
    return contains(options.origins, origin) ||
           (options.page && !host.empty() && (origin == "http://" + host || origin == "https://" + host));
  };
  if (request.headers.contains("origin")) return !known(request.header("origin"));
  const std::string site = lower(request.header("sec-fetch-site"));
  if (site.empty() || site == "none") return false;
  return !(site == "same-origin" && (known("http://" + host) || known("https://" + host)));
}

const Caller* caller_of(const HttpRequest& request, const HttpGuardOptions& options) {
  const std::string shown = request.header("authorization");
  constexpr std::string_view kScheme = "bearer ";
  if (shown.size() <= kScheme.size() || lower(shown.substr(0, kScheme.size())) != kScheme) return nullptr;
  const Caller* found = nullptr;
  for (const HttpToken& token : options.tokens)  // all of them, whichever fits
    if (same_secret(std::string_view(shown).substr(kScheme.size()), token.token)) found = &token.caller;
  return found;
}

}  // namespace

bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  volatile unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference = difference | static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

std::optional<HttpReply> refuse(HttpRequest& request, const HttpGuardOptions& options) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : request.headers) bytes += name.size() + value.size() + 4;
  if (bytes > options.max_headers)
    return error_reply(431, "invalid", fmt::format("the headers exceed {} KiB", options.max_headers >> 10));
  if (!request.malformed.empty()) return error_reply(400, "invalid", request.malformed);
  const bool for_all = options.page && request.method == "GET" && is_page_path(request.path);
  if (!for_all && from_a_page(request, options))
    return error_reply(403, "no_permission",
                       "requests from web pages are refused; list the page's origin in tcp.allowed_origins");
  if (options.tcp) {
    if (!host_allowed(request.header("host"), options))
      return error_reply(421, "no_permission", "the Host header is not a name of this machine; list it in tcp.hosts");
    const Caller* caller = caller_of(request, options);
    const Caller stranger;
    const bool open = options.open_reading && only_reads(request.method, request.path);
    if (!caller && !request.headers.contains("authorization") && (for_all || open)) caller = &stranger;
    if (!caller) {
      auto reply = error_reply(401, "no_permission", "a token is required: Authorization: Bearer TOKEN");
      reply.headers.emplace_back("WWW-Authenticate", "Bearer");
      return reply;
    }
    request.caller = *caller;
    request.caller.remote = true;
  }
  const auto length = parse_int(request.header("content-length"));
  const bool has_body = (length && *length != 0) || request.headers.contains("transfer-encoding");
  if (length && (*length < 0 || std::size_t(*length) > options.max_body))
    return error_reply(413, "invalid",
                       fmt::format("the body exceeds {} bytes; send fewer jobs at once", options.max_body));
  std::string type = request.header("content-type");
  type.resize(std::min(type.find(';'), type.size()));
  type = lower(trim(type));
  if (has_body && type != "application/json")
    return error_reply(415, "invalid", "a body must have the header Content-Type: application/json");
  return std::nullopt;
}

}  // namespace smartmig
