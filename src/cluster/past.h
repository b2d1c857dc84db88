// History for the page, kept by the process while its controllers are replaced (a rebuild, a standby that takes over):
// the last lines of the journal, ended jobs, watts per minute, and counts. Journal positions and job versions only
// increase. lines() and position() from any thread, everything else on the controller's.
#pragma once
#include <chrono>
#include <deque>
#include <mutex>
#include <optional>

#include "queue/answers/figures.h"
#include "queue/answers/service.h"
#include "queue/store/store.h"

namespace smartmig {

class ClusterPast {
 public:
  explicit ClusterPast(UnixTime began) : figures(began) {}

  static constexpr std::size_t kMostLines = 50'000;  // as many as a page begins with
  static constexpr std::size_t kMostEnded = 1'000;

  void write(const std::vector<EventRow>& rows);
  Service::Lines lines(std::uint64_t after, int limit) const;
  std::uint64_t position() const;  // of the last line; 0: none yet
  // A controller begins: open streams end, so that who reads them asks anew what cluster this is.
  void cut();

  struct Ended {
    JobRecord job;
    std::uint64_t version = 0;
  };
  void ended(JobRecord job);
  void add_joules(QueueId job, double joules);               // of one that has ended; nothing where it is forgotten
  const std::deque<Ended>& ended() const { return ended_; }  // the one that changed last behind
  std::uint64_t next_version() { return ++version_; }
  std::uint64_t version() const { return version_; }
  // Was all that has changed since then kept? Else everything must be told.
  bool knows_since(std::uint64_t version) const { return version >= forgotten_ && version <= version_; }

  Figures figures;      // since this process began, of all its controllers
  double boards_j = 0;  // that agents have told of since then

 private:
  mutable std::mutex mutex_;
  std::deque<EventRow> lines_;
  std::chrono::steady_clock::time_point closed_until_{};
  std::deque<Ended> ended_;
  std::uint64_t version_ = 0, forgotten_ = 0;
};

}  // namespace smartmig
