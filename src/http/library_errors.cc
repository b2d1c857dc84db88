// Refusals that the HTTP library makes before our code sees the request (no HTTP, headers beyond its memory, a length that is no
// number): its pages become errors in JSON as all others are. It has no setting for that, but it queues its pages by
// its own public function, which this program puts in its place; what we queue ourselves goes by queue_reply().
#include "http/library_errors.h"

#include <dlfcn.h>
#include <microhttpd.h>
#include <sys/socket.h>

#include "base/errors.h"
#include "http/http_types.h"

namespace smartmig {
namespace {

using QueueResponse = MHD_Result (*)(MHD_Connection*, unsigned, MHD_Response*);

QueueResponse library_queue() {
  static const auto found = reinterpret_cast<QueueResponse>(::dlsym(RTLD_NEXT, "MHD_queue_response"));
  SMARTMIG_CHECK(found != nullptr, "libmicrohttpd has no MHD_queue_response");
  return found;
}

const char* words_of(unsigned status) {
  switch (status) {
    case 413:
      return "the body is too large; send fewer jobs at once";
    case 414:
      return "the address is too long";
    case 431:
      return "the headers are too large";
    case 505:
      return "the server needs HTTP/1.1";
    case 500:
      return "the server is out of memory";
    default:
      return "this is not an HTTP/1.1 request with a method, a path, a Host header and at most one "
             "valid length";
  }
}

// False: not all of it. With TLS by the function of the library's own GnuTLS, which this program does not link itself.
bool send_at_once(MHD_Connection* connection, const std::string& text) {
  if (const auto* tls = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
      tls && tls->tls_session) {
    using Send = ssize_t (*)(void*, const void*, std::size_t);
    static const auto send_record = reinterpret_cast<Send>(::dlsym(RTLD_DEFAULT, "gnutls_record_send"));
    return send_record && send_record(tls->tls_session, text.data(), text.size()) == ssize_t(text.size());
  }
  const auto* socket = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  if (!socket) return false;
  const ssize_t sent = ::send(socket->connect_fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent == ssize_t(text.size());
}

}  // namespace

MHD_Result queue_reply(MHD_Connection* connection, unsigned status, MHD_Response* response) {
  return library_queue()(connection, status, response);
}

}  // namespace smartmig

extern "C" __attribute__((visibility("default"), used)) MHD_Result MHD_queue_response(MHD_Connection* connection,
                                                                                      unsigned status,
                                                                                      MHD_Response* page) {
  using namespace smartmig;
  const HttpReply reply = error_reply(int(status), status >= 500 && status != 505 ? "io" : "invalid", words_of(status));
  // While it reads the headers the library (0.9.75) sends the head of its page twice. So ours goes out at once, and the
  // library is told that nothing can be sent: it closes the connection.
  const char* const reason = MHD_get_reason_phrase_for(status);
  const std::string text =
      fmt::format("HTTP/1.1 {} {}\r\nConnection: close\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n{}", status,
                  reason ? reason : "Error", reply.type, reply.body.size(), reply.body);
  if (send_at_once(connection, text)) return MHD_NO;
  MHD_Response* response =
      MHD_create_response_from_buffer(reply.body.size(), const_cast<char*>(reply.body.data()), MHD_RESPMEM_MUST_COPY);
  if (!response) return queue_reply(connection, status, page);
  MHD_add_response_header(response, "Content-Type", reply.type.c_str());
  const MHD_Result result = queue_reply(connection, status, response);
  MHD_destroy_response(response);
  return result;
}
