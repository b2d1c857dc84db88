#include "http/listen_options.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "base/text.h"
#include "queue/config/places.h"

namespace smartmig {
namespace {

Result<Ok> keep_secret(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return io_error("{}: {}", path, std::strerror(errno));
  if ((file.st_mode & (S_IRWXO | S_IWGRP)) != 0)
    return invalid("others can read or write the secret {}; run chmod 600 {}", path, path);
  return Ok{};
}

// One a line: "TOKEN USER" speaks for that user, "TOKEN" alone for the operator, whose jobs run as the daemon's user.
Result<std::vector<HttpToken>> tokens_of(const std::string& file) {
  std::vector<HttpToken> tokens;
  SMARTMIG_RETURN_IF_ERROR(keep_secret(file));
  SMARTMIG_TRY(const std::string text, read_file(file));
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
        return invalid("{}: a line must be TOKEN or TOKEN USER; this machine has no user '{}{}{}'", file, user,
                       more.empty() ? "" : " ", more);
      one.caller = {entry->pw_uid, entry->pw_gid, entry->pw_uid == 0 || entry->pw_uid == ::geteuid()};
    }
    tokens.push_back(std::move(one));
  }
  if (tokens.empty()) return invalid("{} has no token; write one of at least 16 bytes", file);
  return tokens;
}

struct ListenAt {
  std::string address;
  int port = 0;
};
Result<ListenAt> listen_at(const std::string& key, const std::string& text) {
  const auto colon = text.rfind(':');
  const auto port = colon == std::string::npos ? std::nullopt : parse_int(text.substr(colon + 1));
  if (!port || *port < 0 || *port > 65535)
    return invalid("{} must be ADDRESS:PORT, for example {}, not '{}'", key,
                   key == "http.listen" ? "127.0.0.1:7480" : "0.0.0.0:7443", text);
  return ListenAt{text.substr(0, colon), int(*port)};
}

// A token of 32 hexadecimal digits in a new file that nobody else can read.
Result<Ok> make_token_file(const std::string& path) {
  unsigned char bytes[16];
  if (::getrandom(bytes, sizeof bytes, 0) != ssize_t(sizeof bytes))
    return io_error("the kernel provides no random numbers for {}", path);
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  text += '\n';
  std::error_code made;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), made);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return io_error("cannot make {}: {}", path, std::strerror(errno));
  const bool written = ::write(fd, text.data(), text.size()) == ssize_t(text.size());
  ::close(fd);
  if (!written) return io_error("cannot write {}: {}", path, std::strerror(errno));
  return Ok{};
}

}  // namespace

HttpServerOptions socket_options(const Settings& settings) {
  HttpServerOptions options;
  options.socket = settings.places.socket;
  return options;
}

Result<HttpServerOptions> tcp_options(const Settings& settings) {
  SMARTMIG_TRY(const ListenAt at, listen_at("tcp.listen", settings.tcp.listen));
  HttpServerOptions options;
  options.address = at.address;
  options.port = at.port;
  options.page = true;
  options.certificate_file = settings.tcp.certificate;
  options.key_file = settings.tcp.key;
  options.plain = !settings.tcp.tls;
  options.origins = settings.tcp.allowed_origins;
  options.hosts = settings.tcp.hosts;
  if (char name[256] = {}; ::gethostname(name, sizeof name - 1) == 0) options.hosts.emplace_back(name);
  SMARTMIG_TRY(options.tokens, tokens_of(settings.tcp.token_file));
  if (!settings.tcp.key.empty()) SMARTMIG_RETURN_IF_ERROR(keep_secret(settings.tcp.key));
  return options;
}

std::string page_token_file(const Settings& settings) {
  if (!settings.http.token_file.empty()) return settings.http.token_file;
  return (settings.places.state_dir.empty() ? default_state_dir() : settings.places.state_dir) + "/page-token";
}

Result<HttpServerOptions> page_options(const Settings& settings) {
  SMARTMIG_TRY(const ListenAt at, listen_at("http.listen", settings.http.listen));
  const std::string file = page_token_file(settings);
  struct stat found {};
  if (settings.http.token_file.empty() && ::stat(file.c_str(), &found) != 0)
    SMARTMIG_RETURN_IF_ERROR(make_token_file(file));
  HttpServerOptions options;
  options.address = at.address;
  options.port = at.port;
  options.plain = options.page = options.open_reading = true;
  SMARTMIG_TRY(options.tokens, tokens_of(file));
  return options;
}

}  // namespace smartmig
