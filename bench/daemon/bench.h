// What the benchmarks of the daemon share. Each prints its figures with the bar beside them and returns whether the bar
// was kept. They run on emulated GPUs; `directory` is the state directory to use: put it on the disk that is to be
// measured.
#pragma once
#include <fmt/format.h>
#include <sys/types.h>

#include <algorithm>
#include <string>
#include <vector>

#include "serve/api/daemon_host.h"

namespace smartmig::bench {

bool submissions(const std::string& directory, std::size_t clients, double seconds);
struct QueueMix {
  int users = 3;          // 1 to 3
  bool deadlines = true;  // every other job has one
};
bool decisions(const std::string& directory, const std::string& policy, int queued, int ends, const QueueMix& mix);
bool idle(const std::string& directory, double seconds);
bool many_jobs(const std::string& directory, const std::string& policy, int jobs);
bool recovery(const std::string& directory, int ended, int live);

struct Usage {
  double cpu_s = 0, rss_mb = 0;
};
Usage usage_of(pid_t pid);  // 0: this process

inline double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, std::size_t(share * double(values.size())))];
}

// A `smartmig serve` of its own, from the program beside this one; ended by the destructor.
class Serving {
 public:
  Serving(const std::string& directory, std::vector<std::string> arguments);
  ~Serving();
  bool up() const { return up_; }
  pid_t pid() const { return pid_; }
  const std::string& socket() const { return socket_; }

 private:
  std::string socket_;
  pid_t pid_ = -1;
  bool up_ = false;
};
int connect_to(const std::string& socket);  // -1: nobody listens

// Without a socket or processes, on a virtual clock.
std::unique_ptr<DaemonHost> emulated(const std::string& directory, const std::string& policy, Time sample);
JobSpec some_job(std::uint64_t number);

inline const char* verdict(bool kept) { return kept ? "kept" : "MISSED"; }

}  // namespace smartmig::bench
