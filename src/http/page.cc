#include "http/page.h"

#include "http/http_gzip.h"

namespace smartmig {
namespace {

// Scripts and styles from here alone, none inline; no other host; in no other page's frame.
constexpr const char* kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string_view media_type(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return "application/octet-stream";
}

bool is_front(std::string_view path) { return path == "/" || path == "/index.html" || path.starts_with("/job/"); }

}  // namespace

bool has_page() { return !page_files().empty(); }

bool is_page_path(std::string_view path) {
  return is_front(path) || path == "/favicon.ico" || path.starts_with("/page/");
}

HttpReply PageHandler::handle(const HttpRequest& request) {
  if (!is_page_path(request.path)) return rest_.handle(request);
  if (request.method != "GET") return error_reply(405, "invalid", "the page supports only GET");
  if (!has_page()) return error_reply(404, "not_found", kNoPage);
  const std::string_view name = is_front(request.path)               ? "index.html"
                                : request.path.starts_with("/page/") ? std::string_view(request.path).substr(6)
                                                                     : "icon.svg";
  for (const PageFile& file : page_files()) {
    if (name != file.name) continue;
    HttpReply reply;
    reply.type = media_type(name);
    reply.body.assign(file.begin, file.end);
    reply.headers.emplace_back("Content-Security-Policy", kPagePolicy);
    reply.headers.emplace_back("Referrer-Policy", "no-referrer");
    tag_reply(request, reply);
    return reply;
  }
  return error_reply(404, "not_found", fmt::format("the page has no file {}", name));
}

}  // namespace smartmig
