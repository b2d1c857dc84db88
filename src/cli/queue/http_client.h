// The client of the daemon's API, over its Unix socket or over https with a token. Each call returns one reply. An
// error of the daemon arrives as the same Error; an error of the connection says what to do. One thread per client.
#pragma once
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace smartmig {

struct ClientTarget {
  std::string socket;  // a Unix socket; used when `server` is empty
  std::string server;  // "https://host:port"; http only for localhost
  std::string token;   // for `server`
  std::string cacert;  // PEM file of the authority that signed the server's certificate; empty: those of the system
  double timeout_s = 120;
};

class HttpClient {
 public:
  using Json = nlohmann::json;

  // --socket, --server, --token-file and --cacert as given (empty: not), else SMARTMIG_SOCKET, SMARTMIG_SERVER,
  // SMARTMIG_TOKEN and SMARTMIG_CACERT, else the socket that is there.
  static Result<ClientTarget> target(const std::string& socket, const std::string& server,
                                     const std::string& token_file, const std::string& cacert);
  // /run/smartmig/smartmig.sock for root, else below XDG_RUNTIME_DIR or /tmp/smartmig-UID.
  static std::string default_socket();

  static Result<HttpClient> open(ClientTarget target);  // connects with the first call
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  Result<Json> get(const std::string& path);
  Result<Json> post(const std::string& path, const Json& body = Json::object());
  Result<Json> remove(const std::string& path);  // DELETE
  Result<std::string> text(const std::string& path);

  // Hands on what comes while it comes, without a time limit; false ends it without an error.
  Result<Ok> stream(const std::string& path, const std::function<bool(std::string_view)>& take);
  struct Event {
    std::uint64_t sequence = 0;
    std::string name, data;
  };
  // /v1/events?after=N until `take` says false or the daemon goes down.
  Result<Ok> events(std::uint64_t after, const std::function<bool(const Event&)>& take);

 private:
  struct Handle;
  explicit HttpClient(std::unique_ptr<Handle> handle);
  std::unique_ptr<Handle> handle_;
};

// Cuts a text/event-stream into events, however its bytes arrive. False from `take` stops it for good.
class EventReader {
 public:
  explicit EventReader(std::function<bool(const HttpClient::Event&)> take) : take_(std::move(take)) {}
  bool feed(std::string_view bytes);

 private:
  bool line(std::string_view text);
  std::function<bool(const HttpClient::Event&)> take_;
  std::string rest_;
  HttpClient::Event event_;
};

std::string url_escape(std::string_view text);  // for a value after '?'

}  // namespace smartmig
