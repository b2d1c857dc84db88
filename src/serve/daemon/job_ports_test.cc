#include "serve/daemon/job_ports.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace smartmig {
namespace {

TEST(JobPorts, AreGivenToOneLiveJobEachAndNotWhereSomebodyListens) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(fd, 1), 0);
  ASSERT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const int used = ntohs(address.sin_port);
  std::map<QueueId, JobRecord> live;
  const auto none = free_port(live, {used, used}, {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Error::kBusy);
  ::close(fd);
  const auto free = free_port(live, {used, used}, {});
  ASSERT_TRUE(free);
  EXPECT_EQ(*free, used);
  EXPECT_FALSE(free_port(live, {used, used}, {used})) << "of the same request";
  live[QueueId(7)].spec.port = used;
  EXPECT_FALSE(free_port(live, {used, used}, {}));
  EXPECT_EQ(holder_of_port(live, used), QueueId(7));
  EXPECT_EQ(holder_of_port(live, used + 1), kNoId);
}

}  // namespace
}  // namespace smartmig
