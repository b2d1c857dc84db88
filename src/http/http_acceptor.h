// Takes new connections from a listening socket, on a thread of its own. The library can do that, too, but where it runs
// out of descriptors it takes none until one of its connections ends, and idle ones last 30 s.
//
// While all places are taken, or descriptors are short, new connections wait in the kernel and are tried again. Where
// descriptors are short, new connections get the few that are kept for this. When those are gone, whoever has most
// connections loses the one that has waited longest for its request.
#pragma once
#include <sys/socket.h>

#include <functional>
#include <thread>
#include <vector>

#include "http/http_connections.h"

namespace smartmig {

class HttpAcceptor {
 public:
  // False: refused. It has the descriptor either way.
  using Take = std::function<bool(int fd, const sockaddr* address, socklen_t size)>;
  // REQUIRES: `listening`, which does not block, and `connections` outlive it.
  HttpAcceptor(int listening, HttpConnections& connections, Take take)
      : listening_(listening), connections_(connections), take_(std::move(take)) {}
  ~HttpAcceptor() { stop(); }
  Result<Ok> start();
  void stop();  // takes none any more

 private:
  void run();
  int take_waiting();  // milliseconds until the next try; 0: when somebody comes
  void keep_spares();  // as many as can be had
  bool free_spare();   // false: there is none

  const int listening_;
  HttpConnections& connections_;
  const Take take_;
  int wake_ = -1;
  std::vector<int> spares_;  // descriptors that are open for nothing
  std::thread thread_;
};

}  // namespace smartmig
