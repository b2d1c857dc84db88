#include "cli/http_doors.h"

#include <fmt/format.h>

#include "base/errors.h"
#include "http/listen_options.h"

namespace smartmig::cli {

Result<Ok> take_http_flags(Settings& settings, bool http, std::int64_t port) {
  if (port > 65535 || port < -1) return invalid("--http-port must be 0 to 65535, not {}", port);
  if (http && settings.http.listen.empty()) settings.http.listen = "127.0.0.1:7480";
  if (port >= 0) settings.http.listen = fmt::format("127.0.0.1:{}", port);
  return Ok{};
}

Result<HttpDoors> open_doors(HttpHandler& handler, const Settings& settings, bool quiet) {
  HttpDoors doors;
  if (!settings.http.listen.empty()) {
    SMARTMIG_TRY(const HttpServerOptions options, page_options(settings));
    SMARTMIG_TRY(doors.page, HttpServer::start(handler, options));
    if (!quiet)
      fmt::print(stderr, "smartmig: page at http://127.0.0.1:{}/ (read only; to sign in, use the token in {})\n",
                 doors.page->port(), page_token_file(settings));
  }
  if (!settings.tcp.listen.empty()) {
    SMARTMIG_TRY(const HttpServerOptions options, tcp_options(settings));
    SMARTMIG_TRY(doors.remote, HttpServer::start(handler, options));
  }
  return doors;
}

}  // namespace smartmig::cli
