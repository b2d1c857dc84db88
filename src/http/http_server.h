// The sockets below the API: libmicrohttpd with one thread that polls (epoll) and a few workers that call the handler.
//
// Why so: a handler waits for the daemon's owner thread, which commits to the disk. In a thread of the library it would
// stop all other connections of that thread; with a thread for each connection an idle stream would hold one. Here a
// connection is suspended while a worker has its request, and a stream (log -f, events) holds a worker only while it
// makes the next piece; in between it waits in a list that one timer thread looks through. An idle server sleeps in
// epoll.
//
// Bounds: connections in all and of each user or address, bytes of headers and body, bytes of all large bodies
// together, the time until a request must be complete whatever the client drips, streams in all and of each user,
// requests that wait. Workers serve users by turns (work_queue.h); slow handlers never take more than half of them.
// Thread rule: start and destroy on one thread; the handler is called on workers.
#pragma once
#include <memory>

#include "http/http_guard.h"
#include "http/http_types.h"

namespace smartmig {

struct HttpLimits {
  std::size_t max_body = kMostBodyBytes, max_headers = 32 << 10, max_bodies = 64 << 20;  // bytes
  int max_connections = 512, max_of_peer = 128, max_streams = 128, max_streams_of_peer = 32, max_waiting = 1024;
  int workers = 8;
  double receive_s = 30;  // from the first byte, or the reply before, until a request must be complete
};

struct HttpServerOptions {
  std::string socket;   // a Unix socket; or
  std::string address;  // TCP, which needs a token and TLS
  int port = 0;
  std::string certificate_file, key_file;  // PEM
  bool plain = false;                      // TCP without TLS: on a loopback address only
  bool page = false;                       // has the page: its files are for everybody (http_guard.h)
  bool open_reading = false;               // strangers may look: on a loopback address only
  std::vector<HttpToken> tokens;
  std::vector<std::string> hosts, origins;
  HttpLimits limits;
};

class HttpServer {
 public:
  // kInvalid: an option that is not safe, in words. kBusy: another daemon listens there. REQUIRES: handler outlives it.
  static Result<std::unique_ptr<HttpServer>> start(HttpHandler& handler, const HttpServerOptions& options);
  virtual ~HttpServer() = default;  // answers what was asked, ends the streams, closes
  virtual int port() const = 0;
  virtual const std::string& name() const = 0;  // the socket's path, or "address:port"
};

}  // namespace smartmig
