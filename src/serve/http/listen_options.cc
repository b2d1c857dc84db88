#include "serve/http/listen_options.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "base/file.h"
#include "base/text.h"

namespace smartmig {
namespace {

Result<Ok> keep_secret(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return io_error("{}: {}", path, std::strerror(errno));
  if ((file.st_mode & (S_IRWXO | S_IWGRP)) != 0)
    return invalid("{} is a secret and others can read it or write it: chmod 600 {}", path, path);
  return Ok{};
}

// One a line: "TOKEN USER" speaks for that user, "TOKEN" alone for the operator, whose jobs run as the daemon's user.
Result<std::vector<HttpToken>> tokens_of(const Settings& settings) {
  std::vector<HttpToken> tokens;
  SMARTMIG_RETURN_IF_ERROR(keep_secret(settings.tcp.token_file));
  SMARTMIG_TRY(const std::string text, read_file(settings.tcp.token_file));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    HttpToken one;
    std::string user, more;
    if (!(words >> one.token)) continue;
    one.caller = {::geteuid(), ::getegid(), true};
    if (words >> user) {
      const passwd* const entry = ::getpwnam(user.c_str());
      if (!entry || words >> more)
        return invalid("{}: a line is TOKEN or TOKEN USER; this machine knows no user '{}{}{}'",
                       settings.tcp.token_file, user, more.empty() ? "" : " ", more);
      one.caller = {entry->pw_uid, entry->pw_gid, entry->pw_uid == 0 || entry->pw_uid == ::geteuid()};
    }
    tokens.push_back(std::move(one));
  }
  if (tokens.empty()) return invalid("{} holds no token: write one of 16 bytes or more", settings.tcp.token_file);
  return tokens;
}

}  // namespace

HttpServerOptions socket_options(const Settings& settings) {
  HttpServerOptions options;
  options.socket = settings.places.socket;
  return options;
}

Result<HttpServerOptions> tcp_options(const Settings& settings) {
  const auto colon = settings.tcp.listen.rfind(':');
  const auto port = colon == std::string::npos ? std::nullopt : parse_int(settings.tcp.listen.substr(colon + 1));
  if (!port || *port < 0 || *port > 65535)
    return invalid("tcp.listen is ADDRESS:PORT, for example 0.0.0.0:7443, not '{}'", settings.tcp.listen);
  HttpServerOptions options;
  options.address = settings.tcp.listen.substr(0, colon);
  options.port = int(*port);
  options.certificate_file = settings.tcp.certificate;
  options.key_file = settings.tcp.key;
  options.plain = !settings.tcp.tls;
  options.origins = settings.tcp.allowed_origins;
  options.hosts = settings.tcp.hosts;
  if (char name[256] = {}; ::gethostname(name, sizeof name - 1) == 0) options.hosts.emplace_back(name);
  SMARTMIG_TRY(options.tokens, tokens_of(settings));
  if (!settings.tcp.key.empty()) SMARTMIG_RETURN_IF_ERROR(keep_secret(settings.tcp.key));
  return options;
}

}  // namespace smartmig
