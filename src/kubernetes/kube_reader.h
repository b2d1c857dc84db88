// Keeps a copy of all objects of one kind: lists them, then watches from that version. Lists again if the server no
// longer has the version (410), and after errors, with growing pauses. Restarts a connection that delivers nothing, not
// even a bookmark. One thread each. The copy may be old, so writes must name the version that they are based on.
#pragma once
#include <thread>

#include "kubernetes/kube_api.h"
#include "live/live_clock.h"

namespace smartmig {

class KubeReader {
 public:
  struct Sink {  // called on the reader's thread
    std::function<void(const std::vector<Json>& objects)> all;
    std::function<void(const Json& object, bool gone)> one;
    std::function<void(bool good, const std::string& words)> heard;  // something came, or nothing could be had
  };
  // `path`: "/api/v1/pods".
  KubeReader(KubeApi& api, std::string path, Sink sink, Time idle = kIdle);
  ~KubeReader();

  static constexpr Time kIdle{75'000'000};  // servers send a bookmark a minute

 private:
  void run();
  Result<std::string> list();                // the version of the list
  Result<bool> watch(std::string& version);  // false: list again
  void pause();

  KubeApi& api_;
  const std::string path_;
  const Sink sink_;
  const Time idle_;
  int failures_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace smartmig
