#include "serve/daemon/job_ports.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace smartmig {
namespace {

bool nobody_listens(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(std::uint16_t(port));
  const bool bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return bound;
}

}  // namespace

QueueId holder_of_port(const std::map<QueueId, JobRecord>& live, int port) {
  for (const auto& [id, job] : live)
    if (job.spec.port == port) return id;
  return kNoId;
}

Result<int> free_port(const std::map<QueueId, JobRecord>& live, const Settings::Ports& ports,
                      const std::set<int>& taken) {
  std::set<int> held = taken;
  for (const auto& [id, job] : live)
    if (job.spec.port) held.insert(*job.spec.port);
  for (int port = ports.first; port <= ports.last; ++port)
    if (held.count(port) == 0 && nobody_listens(port)) return port;
  return busy_error("no port from {} to {} is free (ports.first, ports.last)", ports.first, ports.last);
}

}  // namespace smartmig
