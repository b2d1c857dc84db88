#include "cli/queue/http_client.h"

#include <curl/curl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>

#include "base/errors.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "http/http_types.h"
#include "queue/config/places.h"

namespace smartmig {
namespace {

constexpr std::size_t kMostAnswer = 256 << 20;
constexpr std::size_t kMostLine = 16 << 20;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool is_local(std::string_view server) {
  for (const std::string_view prefix : {"http://localhost", "http://127.", "http://[::1]"})
    if (server.starts_with(prefix)) return true;
  return false;
}

struct Collected {
  std::string body;
  const std::function<bool(std::string_view)>* take = nullptr;  // of a stream
  CURL* curl = nullptr;
  bool stopped = false;
};

std::size_t collect(char* data, std::size_t, std::size_t size, void* into) {
  auto& answer = *static_cast<Collected*>(into);
  long status = 0;
  curl_easy_getinfo(answer.curl, CURLINFO_RESPONSE_CODE, &status);
  if (answer.take && status < 300) {
    answer.stopped = !(*answer.take)({data, size});
    return answer.stopped ? 0 : size;
  }
  if (answer.body.size() + size > kMostAnswer) return 0;
  answer.body.append(data, size);
  return size;
}

Error refusal(long status, const std::string& body, const std::string& name) {
  const auto json = parse_json(name, body);
  if (json && json->is_object() && json->contains("error") && (*json)["error"].is_object()) {
    const auto& error = (*json)["error"];
    if (error.contains("code") && error["code"].is_string() && error.contains("message") &&
        error["message"].is_string()) {
      std::string words = error["message"].get<std::string>();
      if (status == 401)  // none is never sent
        words =
            fmt::format("{} rejects this token; check SMARTMIG_TOKEN or --token-file, or ask for a new token", name);
      return {error_code(error["code"].get<std::string>()), std::move(words)};
    }
  }
  if (status == 429 || status == 503)
    return busy_error("{} has too many connections or requests; try again in a moment", name);
  const Error::Code code = status == 408 ? Error::kTimeout : Error::kLost;
  return {code,
          fmt::format("{} answered with status {} and no message; check that it is a smartmig daemon", name, status)};
}

}  // namespace

struct HttpClient::Handle {
  ClientTarget target;
  CURL* curl = nullptr;
  ~Handle() { curl_easy_cleanup(curl); }

  const std::string& name() const { return target.server.empty() ? target.socket : target.server; }

  Error failure(CURLcode code) const {
    long system = 0;
    curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &system);
    switch (code) {
      case CURLE_COULDNT_CONNECT:
        if (system == EACCES)
          return no_permission(
              "you have no permission to open {}; ask its owner, or run your own daemon with smartmig serve", name());
        [[fallthrough]];
      case CURLE_COULDNT_RESOLVE_HOST:
        return lost_error("no daemon answers at {}: start one with smartmig serve", name());
      case CURLE_OPERATION_TIMEDOUT:
        return timeout_error("the daemon at {} did not answer within {} s", name(), target.timeout_s);
      case CURLE_PEER_FAILED_VERIFICATION:
      case CURLE_SSL_CACERT_BADFILE:
        return no_permission("the certificate of {} is not trusted ({}); name its CA with --cacert FILE", name(),
                             curl_easy_strerror(code));
      case CURLE_SSL_CONNECT_ERROR:
        return lost_error("{} does not speak TLS: write http:// for a daemon on this host without a certificate",
                          name());
      case CURLE_WRITE_ERROR:
        return io_error("the reply of {} is too large", name());
      case CURLE_GOT_NOTHING:
        if (name().starts_with("http://"))
          return lost_error("{} closed the connection without a reply; if it uses TLS, write https://", name());
        [[fallthrough]];
      case CURLE_RECV_ERROR:
      case CURLE_SEND_ERROR:
      case CURLE_PARTIAL_FILE:
        return lost_error("the daemon at {} stopped while it was replying; see its log", name());
      default:
        return lost_error("cannot talk to {}: {}", name(), curl_easy_strerror(code));
    }
  }

  Result<std::string> call(const char* method, const std::string& path, const std::string* body,
                           const std::function<bool(std::string_view)>* take) {
    curl_easy_reset(curl);
    Collected answer;
    answer.take = take;
    answer.curl = curl;
    const std::string url = (target.server.empty() ? "http://localhost" : target.server) + path;
    curl_slist* headers = nullptr;
    if (target.server.empty())
      curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, target.socket.c_str());
    else
      headers = curl_slist_append(headers, ("Authorization: Bearer " + target.token).c_str());
    if (!target.cacert.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, target.cacert.c_str());
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, 5000L);
    if (!take) curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, long(target.timeout_s * 1000));
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, collect);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
    if (body) {
      headers = curl_slist_append(headers, "Content-Type: application/json");
      headers = curl_slist_append(headers, "Expect:");
      curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body->c_str());
      curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body->size()));
    }
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    const CURLcode code = curl_easy_perform(curl);
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    Result<std::string> result = std::string();
    if (answer.stopped)
      ;
    else if (code != CURLE_OK && !(status >= 400 && !answer.body.empty()))
      result = failure(code);
    else if (status >= 300)
      result = refusal(status, answer.body, name());
    else
      result = std::move(answer.body);
    curl_slist_free_all(headers);
    return result;
  }

  Result<Json> json(const char* method, const std::string& path, const std::string* body) {
    SMARTMIG_TRY(const auto text, call(method, path, body, nullptr));
    auto answer = parse_json(path, text);
    if (!answer) return lost_error("cannot read the reply of {}: {}", name(), answer.error().what);
    return answer;
  }
};

HttpClient::HttpClient(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

std::string HttpClient::default_socket() { return smartmig::default_socket(); }

Result<ClientTarget> HttpClient::target(const std::string& socket, const std::string& server,
                                        const std::string& token_file, const std::string& cacert) {
  ClientTarget found;
  if (!socket.empty() && !server.empty()) return invalid("give --socket or --server, not both");
  found.socket = socket;
  found.server = !server.empty() || !socket.empty() ? server : variable("SMARTMIG_SERVER");
  if (found.server.empty() && found.socket.empty()) found.socket = variable("SMARTMIG_SOCKET");
  if (found.server.empty() && found.socket.empty()) {
    found.socket = default_socket();
    struct stat file {};
    const std::string of_machine = "/run/smartmig/smartmig.sock";
    const bool own = ::lstat(found.socket.c_str(), &file) == 0;
    const auto is_strange = [](const struct stat& entry) { return entry.st_uid != 0 && entry.st_uid != ::geteuid(); };
    bool strange = own && is_strange(file);
    // Whose directory it is could put another socket in its place.
    const std::string parent = found.socket.substr(0, found.socket.rfind('/'));
    if (own && ::lstat(parent.c_str(), &file) == 0) strange |= is_strange(file);
    // Who squats there does not keep anyone from the machine's daemon.
    if ((!own || strange) && ::lstat(of_machine.c_str(), &file) == 0 && file.st_uid == 0)
      found.socket = of_machine;
    else if (strange)
      return no_permission("{} belongs to another user; if you trust it, add --socket {}", found.socket, found.socket);
  }
  if (found.server.empty()) return found;
  found.cacert = cacert.empty() ? variable("SMARTMIG_CACERT") : cacert;
  found.token = variable("SMARTMIG_TOKEN");
  if (!token_file.empty()) {
    SMARTMIG_TRY(const auto text, read_file(token_file));
    found.token = trim(text);
  }
  return found;
}

Result<HttpClient> HttpClient::open(ClientTarget target) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  if (target.server.empty()) {
    if (target.socket.empty() || target.socket.size() > 107)
      return invalid("the socket path \"{}\" must have 1 to 107 bytes", target.socket);
  } else {
    while (target.server.ends_with('/')) target.server.pop_back();
    if (!target.server.starts_with("https://") && !is_local(target.server))
      return invalid("--server {}: write https://HOST:PORT; plain http is for localhost only", target.server);
    if (target.token.empty())
      return no_permission("{} needs a token; put it in SMARTMIG_TOKEN or in a file and name that with --token-file",
                           target.server);
    if (target.token.find_first_of("\r\n") != target.token.npos) return invalid("the token must be one line");
  }
  auto handle = std::make_unique<Handle>();
  handle->target = std::move(target);
  handle->curl = curl_easy_init();
  if (!handle->curl) return io_error("libcurl cannot start: out of memory");
  return HttpClient(std::move(handle));
}

Result<nlohmann::json> HttpClient::get(const std::string& path) { return handle_->json("GET", path, nullptr); }

Result<nlohmann::json> HttpClient::post(const std::string& path, const Json& body) {
  const std::string text = json_dump(body);
  // A daemon that refuses closes before it has read all, and its answer may be lost.
  if (text.size() > kMostBodyBytes)
    return invalid(
        "the request has {} bytes and the limit is {}; send fewer jobs at once, or a smaller "
        "script",
        text.size(), kMostBodyBytes);
  return handle_->json("POST", path, &text);
}

Result<nlohmann::json> HttpClient::remove(const std::string& path) { return handle_->json("DELETE", path, nullptr); }

Result<std::string> HttpClient::text(const std::string& path) { return handle_->call("GET", path, nullptr, nullptr); }

Result<Ok> HttpClient::stream(const std::string& path, const std::function<bool(std::string_view)>& take) {
  SMARTMIG_RETURN_IF_ERROR(handle_->call("GET", path, nullptr, &take));
  return Ok{};
}

Result<Ok> HttpClient::events(std::uint64_t after, const std::function<bool(const Event&)>& take) {
  EventReader reader(take);
  return stream(fmt::format("/v1/events?after={}", after), [&](std::string_view bytes) { return reader.feed(bytes); });
}

bool EventReader::feed(std::string_view bytes) {
  rest_ += bytes;
  std::size_t from = 0;
  for (std::size_t end; (end = rest_.find('\n', from)) != rest_.npos; from = end + 1)
    if (!line(std::string_view(rest_).substr(from, end - from))) return false;
  rest_.erase(0, from);
  return rest_.size() <= kMostLine;
}

bool EventReader::line(std::string_view text) {
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (text.empty()) {
    const bool whole = !event_.data.empty();
    const HttpClient::Event event = std::exchange(event_, {});
    return !whole || take_(event);
  }
  const auto colon = text.find(':');
  const std::string_view field = text.substr(0, colon);
  std::string_view value = colon == text.npos ? std::string_view() : text.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "id") event_.sequence = std::uint64_t(parse_int(value).value_or(0));
  if (field == "event") event_.name = value;
  if (field == "data") event_.data += event_.data.empty() ? std::string(value) : "\n" + std::string(value);
  return true;
}

std::string url_escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '_' || c == '.' || c == '~';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace smartmig
