#include "http/http_server.h"

#include <microhttpd.h>

#include <atomic>

#include "base/file.h"
#include "base/text.h"
#include "http/http_acceptor.h"
#include "http/http_gzip.h"
#include "http/http_streams.h"
#include "http/library_errors.h"
#include "http/listen_socket.h"
#include "http/work_queue.h"

namespace smartmig {
namespace {

constexpr std::size_t kSmallBody = 64 << 10;  // bodies below it do not count against the sum
constexpr unsigned kNotReached = 64;          // above the limit of connections, which is kept before (http_acceptor.h)

struct Exchange {  // one request and its reply
  std::string target;
  const char* target_end = nullptr;  // in the library's memory; the version follows it
  HttpRequest request;
  std::size_t counted = 0;  // bytes in the sum of large bodies
  bool begun = false, handed_over = false, too_large = false, no_room = false;
  HttpReply reply;
};

// Whose work a request is: strangers count as one.
std::uint64_t owner_of(const Caller& caller) { return caller.uid; }

HttpGuardOptions guard_of(const HttpServerOptions& options) {
  HttpGuardOptions guard;
  guard.tcp = options.socket.empty();
  guard.page = options.page;
  guard.open_reading = options.open_reading;
  guard.tokens = options.tokens;
  guard.hosts = options.hosts;
  guard.origins = options.origins;
  guard.max_body = options.limits.max_body;
  guard.max_headers = options.limits.max_headers;
  return guard;
}

class Server final : public HttpServer {
 public:
  Server(HttpHandler& handler, const HttpServerOptions& options, ListenSocket socket)
      : handler_(handler),
        options_(options),
        guard_(guard_of(options)),
        tls_(guard_.tcp && !options.plain),
        socket_(std::move(socket)),
        connections_(
            {!guard_.tcp, !tls_, options.limits.max_connections, options.limits.max_of_peer, options.limits.receive_s}),
        queue_(options.limits.workers),
        streams_(queue_, options.limits.max_streams, options.limits.max_streams_of_peer),
        acceptor_(socket_.fd(), connections_, [this](int fd, const sockaddr* address, socklen_t size) {
          return MHD_add_connection(daemon_, fd, address, size) == MHD_YES;
        }) {}
  ~Server() override;
  Result<Ok> listen();
  int port() const override { return socket_.port(); }
  const std::string& name() const override { return socket_.name(); }

 private:
  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* url, const char* method,
                               const char* version, const char* data, std::size_t* size, void** context) {
    (void)url;
    auto& exchange = *static_cast<Exchange*>(*context);
    // The library reads texts up to a NUL: where one stands within the target, the version does not follow its end.
    if (!exchange.begun && *version != 0 && version != exchange.target_end + 1)
      exchange.request.malformed = "the address contains a NUL or a space";
    return static_cast<Server*>(self)->request(connection, exchange, method, data, size);
  }
  static void* on_target(void*, const char* target, MHD_Connection*) {
    auto* exchange = new Exchange;
    exchange->target = target;
    exchange->target_end = target + exchange->target.size();
    return exchange;
  }
  static void on_completed(void* self, MHD_Connection* connection, void** context, MHD_RequestTerminationCode) {
    static_cast<Server*>(self)->completed(connection, static_cast<Exchange*>(*context));
    *context = nullptr;
  }
  static void on_connection(void* self, MHD_Connection* connection, void** context,
                            MHD_ConnectionNotificationCode what) {
    auto& connections = static_cast<Server*>(self)->connections_;
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
      *context = connections.add(MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
    else
      connections.remove(static_cast<HttpConnection*>(*context));
  }
  static HttpConnection& connection_of(MHD_Connection* connection) {
    return *static_cast<HttpConnection*>(
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context);
  }

  MHD_Result request(MHD_Connection* connection, Exchange& exchange, const char* method, const char* data,
                     std::size_t* size);
  bool begin(MHD_Connection* connection, Exchange& exchange, const char* method);
  void receive(Exchange& exchange, const char* data, std::size_t size);
  void hand_over(MHD_Connection* connection, Exchange& exchange);
  MHD_Result send(MHD_Connection* connection, Exchange& exchange);
  void completed(MHD_Connection* connection, Exchange* exchange);

  HttpHandler& handler_;
  const HttpServerOptions options_;
  const HttpGuardOptions guard_;
  const bool tls_;
  ListenSocket socket_;
  std::string certificate_, key_;
  MHD_Daemon* daemon_ = nullptr;
  std::atomic<std::size_t> large_bodies_ = 0;
  HttpConnections connections_;
  WorkQueue queue_;
  HttpStreams streams_;
  HttpAcceptor acceptor_;
};

// Requests, all on the library's thread; only the handler is called elsewhere.
MHD_Result Server::request(MHD_Connection* connection, Exchange& exchange, const char* method, const char* data,
                           std::size_t* size) {
  if (!exchange.begun) {
    exchange.begun = true;
    return begin(connection, exchange, method) ? MHD_YES : send(connection, exchange);
  }
  if (*size > 0) {
    receive(exchange, data, *size);
    *size = 0;
    return MHD_YES;
  }
  if (exchange.handed_over) return send(connection, exchange);
  connections_.answering(connection_of(connection));
  exchange.handed_over = true;
  if (exchange.too_large) {
    exchange.reply = error_reply(413, "invalid", fmt::format("the body exceeds {} bytes", options_.limits.max_body));
    return send(connection, exchange);
  }
  if (exchange.no_room) {
    exchange.reply = error_reply(429, "busy", "too many large requests at once; try again");
    return send(connection, exchange);
  }
  hand_over(connection, exchange);
  return MHD_YES;
}

// False: refused, the reply is set.
bool Server::begin(MHD_Connection* connection, Exchange& exchange, const char* method) {
  HttpRequest& request = exchange.request;
  request.method = method;
  request.caller = connection_of(connection).peer;
  MHD_get_connection_values(
      connection, MHD_HEADER_KIND,
      [](void* into, MHD_ValueKind, const char* name, const char* value) {
        take_header(*static_cast<HttpRequest*>(into), name, value ? value : "");
        return MHD_YES;
      },
      &request);
  if (const auto parsed = parse_target(exchange.target, request); !parsed) {
    exchange.reply = error_reply(parsed.error());
    return false;
  }
  if (auto refusal = refuse(request, guard_)) {
    exchange.reply = std::move(*refusal);
    return false;
  }
  return true;
}

void Server::receive(Exchange& exchange, const char* data, std::size_t size) {
  std::string& body = exchange.request.body;
  if (exchange.too_large || exchange.no_room) return;
  if (body.size() + size > options_.limits.max_body) exchange.too_large = true;
  if (body.size() + size > kSmallBody && !exchange.too_large) {
    large_bodies_ += size;
    exchange.counted += size;
    exchange.no_room = large_bodies_ > options_.limits.max_bodies;
  }
  if (exchange.too_large || exchange.no_room)
    std::string().swap(body);
  else
    body.append(data, size);
}

void Server::hand_over(MHD_Connection* connection, Exchange& exchange) {
  MHD_suspend_connection(connection);
  const WorkQueue::Taken taken = queue_.add(
      [this, connection, &exchange] {
        exchange.reply = handler_.handle(exchange.request);
        pack_reply(exchange.request, exchange.reply);
        std::string().swap(exchange.request.body);
        MHD_resume_connection(connection);
      },
      owner_of(exchange.request.caller), handler_.is_slow(exchange.request), std::size_t(options_.limits.max_waiting));
  if (taken == WorkQueue::Taken::kYes) return;
  exchange.reply = taken == WorkQueue::Taken::kFull
                       ? error_reply(429, "busy", "too many requests are waiting; try again")
                       : error_reply(503, "lost", "the daemon is stopping; try again when it has restarted");
  exchange.reply.headers.emplace_back("Retry-After", "1");
  MHD_resume_connection(connection);
}

MHD_Result Server::send(MHD_Connection* connection, Exchange& exchange) {
  HttpReply& reply = exchange.reply;
  MHD_Response* response = nullptr;
  if (reply.stream) {
    const Caller& caller = exchange.request.caller;
    const auto full = streams_.full(owner_of(caller), !caller.known());
    if (!full)
      response = streams_.respond(connection, connection_of(connection).fd, owner_of(caller), std::move(reply.stream));
    else
      reply = error_reply(429, "busy",
                          fmt::format("{} streams are open{}; close one, or try again later", *full,
                                      *full < options_.limits.max_streams ? ", the limit for one user" : ""));
  }
  if (!response)
    response = MHD_create_response_from_buffer(reply.body.size(), reply.body.data(), MHD_RESPMEM_MUST_COPY);
  if (!response) return MHD_NO;
  MHD_add_response_header(response, "Content-Type", reply.type.c_str());
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  bool kept = false;  // by the client, who asks whether it has changed
  for (const auto& header : reply.headers) kept |= header.first == "ETag";
  MHD_add_response_header(response, "Cache-Control", kept ? "no-cache" : "no-store");
  if (!exchange.request.malformed.empty()) MHD_add_response_header(response, "Connection", "close");
  for (const auto& [name, value] : reply.headers) MHD_add_response_header(response, name.c_str(), value.c_str());
  const MHD_Result result = queue_reply(connection, unsigned(reply.status), response);
  MHD_destroy_response(response);
  return result;
}

void Server::completed(MHD_Connection* connection, Exchange* exchange) {
  if (!exchange) return;
  large_bodies_ -= exchange->counted;
  connections_.answered(connection_of(connection));
  delete exchange;
}

Result<Ok> Server::listen() {
  SMARTMIG_RETURN_IF_ERROR(connections_.start());
  SMARTMIG_RETURN_IF_ERROR(queue_.start());
  SMARTMIG_RETURN_IF_ERROR(streams_.start());
  unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET;
  std::vector<MHD_OptionItem> more;
  if (tls_) {
    SMARTMIG_TRY(certificate_, read_file(options_.certificate_file));
    SMARTMIG_TRY(key_, read_file(options_.key_file));
    flags |= MHD_USE_TLS;
    more.push_back({MHD_OPTION_HTTPS_MEM_CERT, 0, certificate_.data()});
    more.push_back({MHD_OPTION_HTTPS_MEM_KEY, 0, key_.data()});
    more.push_back({MHD_OPTION_HTTPS_PRIORITIES, 0, const_cast<char*>("NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2")});
  }
  if (guard_.tcp) more.push_back({MHD_OPTION_PER_IP_CONNECTION_LIMIT, options_.limits.max_of_peer, nullptr});
  more.push_back({MHD_OPTION_END, 0, nullptr});
  // The library's own limit of inactivity serves clients that do not read; completeness in time is ours.
  daemon_ = MHD_start_daemon(flags, 0, nullptr, nullptr, &Server::on_request, this,  //
                             MHD_OPTION_CONNECTION_LIMIT, unsigned(options_.limits.max_connections) + kNotReached,
                             MHD_OPTION_CONNECTION_TIMEOUT, unsigned(options_.limits.receive_s + 5),
                             MHD_OPTION_CONNECTION_MEMORY_LIMIT, 2 * options_.limits.max_headers,
                             MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK, &Server::on_target, this,
                             MHD_OPTION_NOTIFY_COMPLETED, &Server::on_completed, this, MHD_OPTION_NOTIFY_CONNECTION,
                             &Server::on_connection, this, MHD_OPTION_ARRAY, more.data(), MHD_OPTION_END);
  if (!daemon_)
    return io_error(
        "cannot serve at {}{}", name(),
        certificate_.empty() ? "" : ": check that the certificate and key files are PEM and belong together");
  return acceptor_.start();
}

Server::~Server() {
  streams_.stop_watching();
  queue_.stop();
  streams_.end_waiting();
  if (!daemon_) return;
  connections_.wait_until_answered(std::chrono::seconds(1));  // the last replies are on their way
  acceptor_.stop();
  MHD_stop_daemon(daemon_);
}

Result<Ok> check(const HttpServerOptions& options, const ListenSocket& socket) {
  if (!options.socket.empty()) return Ok{};
  if (options.open_reading && !socket.loopback())
    return invalid("{} is not a loopback address; reading without a token needs one", socket.name());
  if (options.tokens.empty() && !options.open_reading)
    return invalid("TCP needs a token of at least 16 bytes; set one, or use the Unix socket");
  for (const HttpToken& token : options.tokens)
    if (token.token.size() < 16) return invalid("a token for TCP must have at least 16 bytes");
  if (options.plain && !socket.loopback())
    return invalid("{} needs TLS; plain http is only for loopback addresses", socket.name());
  if (!options.plain && (options.certificate_file.empty() || options.key_file.empty()))
    return invalid(
        "TCP needs TLS: name a certificate and a key file, or on a loopback address set tls = "
        "false");
  return Ok{};
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpHandler& handler, const HttpServerOptions& options) {
  if (options.socket.empty() == options.address.empty())
    return invalid("a server needs a socket path or a TCP address");
  SMARTMIG_TRY(auto socket, options.socket.empty() ? ListenSocket::tcp_at(options.address, options.port)
                                                   : ListenSocket::unix_at(options.socket));
  SMARTMIG_RETURN_IF_ERROR(check(options, socket));
  auto server = std::make_unique<Server>(handler, options, std::move(socket));
  SMARTMIG_RETURN_IF_ERROR(server->listen());
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace smartmig
