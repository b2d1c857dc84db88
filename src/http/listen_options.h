// Addresses of the daemon and access to them: the server's options that follow from the settings. Files with secrets
// (the tokens, the key) must be closed to others.
#pragma once
#include "http/http_server.h"
#include "queue/config/settings.h"

namespace smartmig {

HttpServerOptions socket_options(const Settings& settings);
// REQUIRES: settings.tcp.listen is set. kInvalid: an address or a file that cannot be used, in words.
Result<HttpServerOptions> tcp_options(const Settings& settings);
// The page on a loopback address: strangers may look, a token signs in. Makes the token file where none is named and
// none is there. REQUIRES: settings.http.listen is set.
Result<HttpServerOptions> page_options(const Settings& settings);
std::string page_token_file(const Settings& settings);

}  // namespace smartmig
