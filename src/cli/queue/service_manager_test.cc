#include "cli/queue/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "support/temp_dir.h"

namespace smartmig::cli {
namespace {

// Stands in for systemd: the socket it would listen at.
class NotifySocket {
 public:
  explicit NotifySocket(const std::string& path) {
    fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const timeval patience{20, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  }
  ~NotifySocket() { ::close(fd_); }
  std::string next() {
    char text[512];
    const auto got = ::recv(fd_, text, sizeof text, 0);
    return got < 0 ? "(nothing)" : std::string(text, std::size_t(got));
  }
  bool silent() {
    char text[512];
    return ::recv(fd_, text, sizeof text, MSG_DONTWAIT) < 0;
  }

 private:
  int fd_ = -1;
};

TEST(ServiceManagerProcess, ItHearsTheDaemonAndNobodyInheritsItsSocket) {
  const TempDir dir;
  NotifySocket systemd(dir.path() + "/notify");
  const ServiceManager manager = ServiceManager::of_environment();
  EXPECT_TRUE(manager.listens());
  EXPECT_EQ(std::getenv("NOTIFY_SOCKET"), nullptr);
  manager.tell("READY=1\nSTATUS=8 x a100-40gb");
  EXPECT_EQ(systemd.next(), "READY=1\nSTATUS=8 x a100-40gb");
  manager.tell_reloading();
  EXPECT_TRUE(systemd.next().starts_with("RELOADING=1\nMONOTONIC_USEC="));
}

TEST(ServiceManagerProcess, ThreadGivesNoSignOfLifeWithoutLife) {
  const TempDir dir;
  NotifySocket systemd(dir.path() + "/notify");
  ::setenv("WATCHDOG_USEC", "20000", 1);
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  const ServiceManager manager = ServiceManager::of_environment();
  EXPECT_EQ(manager.beat(), std::chrono::milliseconds(10));
  std::atomic<int> asked{0};
  {
    SignsOfLife signs;
    ASSERT_TRUE(signs.start(manager, [&] { return ++asked <= 2 ? "2 running" : ""; }));
    EXPECT_EQ(systemd.next(), "WATCHDOG=1\nSTATUS=2 running");
    EXPECT_EQ(systemd.next(), "WATCHDOG=1\nSTATUS=2 running");
    while (asked < 5) ::usleep(1000);
  }
  EXPECT_TRUE(systemd.silent());
}

TEST(ServiceManager, WatchdogsOfOthersAndNoneAtAll) {
  ::setenv("WATCHDOG_USEC", "2000000", 1);
  ::setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(ServiceManager::of_environment().beat(), std::chrono::seconds(10));
  ::setenv("WATCHDOG_USEC", "120000000", 1);
  EXPECT_EQ(ServiceManager::of_environment().beat(), std::chrono::seconds(10));
  ::setenv("WATCHDOG_USEC", "nonsense", 1);
  EXPECT_EQ(ServiceManager::of_environment().beat(), std::chrono::seconds(10));
  ::setenv("NOTIFY_SOCKET", std::string(200, 'x').c_str(), 1);
  const ServiceManager none = ServiceManager::of_environment();
  EXPECT_FALSE(none.listens());
  none.tell("READY=1");
  SignsOfLife signs;
  ASSERT_TRUE(signs.start(none, [] { return "never asked"; }));
}

}  // namespace
}  // namespace smartmig::cli
