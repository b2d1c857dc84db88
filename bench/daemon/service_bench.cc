// What clients feel: durable submissions over the socket, and what a daemon costs that has nothing to do.
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "bench.h"

namespace smartmig::bench {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

// One request on a kept connection. 0: the connection is gone.
int exchange(int fd, const std::string& request, std::string& buffer) {
  for (std::size_t sent = 0; sent < request.size();) {
    const ssize_t n = ::send(fd, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return 0;
    sent += std::size_t(n);
  }
  buffer.clear();
  std::size_t whole = std::string::npos;
  char piece[8192];
  while (buffer.size() < whole) {
    const ssize_t n = ::recv(fd, piece, sizeof piece, 0);
    if (n <= 0) return 0;
    buffer.append(piece, std::size_t(n));
    const auto head = buffer.find("\r\n\r\n");
    if (head == buffer.npos || whole != buffer.npos) continue;
    auto at = buffer.find("Content-Length: ");
    if (at == buffer.npos) return 0;
    whole = head + 4 + std::size_t(std::atoll(buffer.c_str() + at + 16));
  }
  return std::atoi(buffer.c_str() + 9);
}

}  // namespace

bool submissions(const std::string& directory, std::size_t clients, double seconds) {
  Serving serving(directory, {"--emulate", "8xa100-40gb", "--without-processes"});
  if (!serving.up()) return false;
  const std::string body =
      R"({"command":["python3","train.py"],"directory":"/","environment":["HOME=/root","PATH=/usr/bin:/bin"],)"
      R"("estimate_s":600,"kind":"bert-train","deadline_s":36000})";
  const std::string request = fmt::format(
      "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
      body.size(), body);
  std::atomic<bool> over{false};
  std::vector<std::vector<double>> took(clients), when(clients);
  std::atomic<int> failures{0};
  const Usage before = usage_of(serving.pid());
  const auto began = Clock::now();
  std::vector<std::thread> threads;
  for (std::size_t c = 0; c < clients; ++c)
    threads.emplace_back([&, c] {
      const int fd = connect_to(serving.socket());
      std::string buffer;
      while (fd >= 0 && !over) {
        const auto asked = Clock::now();
        const int code = exchange(fd, request, buffer);
        if (code != 201) {
          if (failures++ == 0) fmt::print(stderr, "answer {}: {}\n", code, buffer.substr(0, 400));
          if (code == 0) break;
          continue;
        }
        took[c].push_back(since(asked));
        when[c].push_back(since(began));
      }
      if (fd >= 0) ::close(fd);
    });
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  over = true;
  for (std::thread& thread : threads) thread.join();
  const double wall = since(began);
  const Usage after = usage_of(serving.pid());
  std::vector<double> all;
  std::vector<int> by_second(std::size_t(wall) + 1);
  for (std::size_t c = 0; c < took.size(); ++c) {
    all.insert(all.end(), took[c].begin(), took[c].end());
    for (const double at : when[c]) ++by_second[std::min(by_second.size() - 1, std::size_t(at))];
  }
  by_second.pop_back();
  const double rate = double(all.size()) / wall;
  fmt::print(
      "submissions: {} durable in {:.1f} s from {} clients: {:.0f}/s (slowest second {}), p50 {:.1f} ms, p99 "
      "{:.1f} ms, {} failed; daemon {:.0f} % CPU, {:.0f} MB; bar 500/s: {}\n",
      all.size(), wall, clients, rate, *std::min_element(by_second.begin(), by_second.end()),
      1e3 * percentile(all, 0.5), 1e3 * percentile(all, 0.99), failures.load(),
      100 * (after.cpu_s - before.cpu_s) / wall, after.rss_mb, verdict(rate >= 500 && failures == 0));
  return rate >= 500 && failures == 0;
}

bool idle(const std::string& directory, double seconds) {
  Serving serving(directory, {"--emulate", "8xa100-40gb"});
  if (!serving.up()) return false;
  std::this_thread::sleep_for(std::chrono::seconds(5));  // its first slices
  const Usage before = usage_of(serving.pid());
  const auto began = Clock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const double wall = since(began);
  const Usage after = usage_of(serving.pid());
  const double cpu = 100 * (after.cpu_s - before.cpu_s) / wall;
  const bool kept = cpu < 1 && after.rss_mb < 60;
  fmt::print("idle: {:.2f} % CPU over {:.0f} s, {:.1f} MB resident; bars 1 % and 60 MB: {}\n", cpu, wall, after.rss_mb,
             verdict(kept));
  return kept;
}

}  // namespace smartmig::bench
