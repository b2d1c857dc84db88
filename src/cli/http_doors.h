// The TCP sockets of the settings, over one handler: the page on a loopback address, and TCP with TLS and a token for
// other machines. Used by `serve` and `slurm serve`. The destructor closes the sockets.
#pragma once
#include <memory>

#include "http/http_server.h"
#include "queue/config/settings.h"

namespace smartmig::cli {

struct HttpDoors {
  std::unique_ptr<HttpServer> page, remote;  // null: not asked for
};

// --http and --http-port, if given (-1: not), over what the settings say.
Result<Ok> take_http_flags(Settings& settings, bool http, std::int64_t port);
// REQUIRES: `handler` outlives it. Says where the page is, unless quiet.
Result<HttpDoors> open_doors(HttpHandler& handler, const Settings& settings, bool quiet);

}  // namespace smartmig::cli
