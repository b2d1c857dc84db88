// Where the daemon listens, and to whom: the server's options that follow from the settings. Files with secrets (the
// tokens, the key) must be closed to others.
#pragma once
#include "serve/config/settings.h"
#include "serve/http/http_server.h"

namespace smartmig {

HttpServerOptions socket_options(const Settings& settings);
// REQUIRES: settings.tcp.listen is set. kInvalid: an address or a file that cannot be used, in words.
Result<HttpServerOptions> tcp_options(const Settings& settings);

}  // namespace smartmig
