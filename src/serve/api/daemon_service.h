// The daemon as the API sees it: questions go to the owner thread and come back as JSON; what needs simulated futures
// is forked there and computed on the asking thread. Only this class decides who may do what. Everybody may see the
// queue; only the owner and the operator may see a job's log and environment and change the job; only the operator may
// use GPUs, pauses, reloads and backups. Thread rule: any thread.
#pragma once
#include <chrono>

#include "queue/answers/service.h"
#include "queue/answers/shared_answer.h"
#include "serve/api/path_looks.h"
#include "serve/daemon/daemon.h"

namespace smartmig {

// What one question may keep the owner's thread from all others.
class SliceOfTime {
 public:
  bool over() const { return std::chrono::steady_clock::now() >= end_; }

 private:
  const std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
};

class DaemonService final : public Service {
 public:
  struct Facts {
    std::string version, isolation = "cooperative";
    std::vector<std::pair<std::string, std::string>> isolates;  // JSON's: what, by what (Cgroups::isolates)
    std::function<Result<Settings>()> reload;                   // reads the configuration again
    std::optional<std::uint32_t> only_uid;                      // whose jobs alone can be run; nothing: everybody's
    Time path_patience = std::chrono::seconds(2);               // with a path that a user names
  };
  DaemonService(Daemon& daemon, Store& store, Facts facts)
      : daemon_(daemon), store_(store), facts_(std::move(facts)), paths_(facts_.path_patience) {}

  Result<Json> submit(const Caller& caller, const Json& body, std::optional<std::uint32_t> owner) override;
  Result<Json> jobs(const Caller& caller, const JobQuery& query) override;
  Result<Json> job(const Caller& caller, std::uint64_t id) override;
  Result<Json> cancel(const Caller& caller, std::uint64_t id) override;
  Result<Json> requeue(const Caller& caller, std::uint64_t id) override;
  Result<Json> change_jobs(const Caller& caller, JobVerb verb, const Json& body) override;
  Result<Json> usage(const Caller& caller, const UsageQuery& query) override;
  Result<Json> groups(const Caller& caller) override;
  Result<Json> set_group(const Caller& caller, const Json& body) override;
  Result<Json> reservations(const Caller& caller) override;
  Result<Json> reserve(const Caller& caller, const Json& body) override;
  Result<Json> unreserve(const Caller& caller, const Json& body) override;
  Result<Json> why(const Caller& caller, std::uint64_t id) override;
  Result<Json> eta(const Caller& caller, std::uint64_t id) override;
  Result<Json> history_of_job(const Caller& caller, std::uint64_t id) override;
  Result<Json> history_of_command(const Caller& caller, const Json& body) override;
  Result<Json> calibration(const Caller& caller) override;
  Result<Json> whatif(const Caller& caller, const Json& body) override;
  Result<Json> world(const Caller& caller) override;
  Result<Json> changes(const Caller& caller, std::uint64_t since) override;
  Result<Json> reasons(const Caller& caller, const Json& body) override;
  Result<Json> futures(const Caller& caller, int count) override;
  Result<Json> gpus(const Caller& caller) override;
  Result<Json> status(const Caller& caller) override;
  Result<Json> power(const Caller& caller, std::uint64_t since) override;
  Result<Json> set_gpu(const Caller& caller, int gpu, bool drain) override;
  Result<Json> set_queue(const Caller& caller, bool pause) override;
  Result<Json> reload(const Caller& caller) override;
  Result<Json> set_settings(const Caller& caller, const Json& body) override;
  Result<Json> backup(const Caller& caller, const std::string& path) override;
  Result<Log> log(const Caller& caller, std::uint64_t id, int attempt) override;
  Result<Lines> events(const Caller& caller, std::uint64_t after, int limit, double wait_s) override;
  std::string metrics() override;
  Health health() override;

 private:
  template <class T>
  Result<T> ask(std::function<Result<T>(Daemon&)> work, bool changes = false) {
    return daemon_.ask<T>(std::move(work), changes);
  }
  // Calls `one` on the owner's thread for each number below `count`, in several questions of some milliseconds: between
  // them the owner serves others, and what there is may change. An error ends it.
  Result<Ok> in_slices(std::size_t count, const std::function<void(Daemon&, std::size_t)>& one) {
    for (std::size_t done = 0; done < count;) {
      SMARTMIG_TRY(done, ask<std::size_t>([&](Daemon& d) -> Result<std::size_t> {
                     const SliceOfTime slice;
                     std::size_t next = done;
                     do one(d, next++);
                     while (next < count && !slice.over());
                     return next;
                   }));
    }
    return Ok{};
  }
  Result<Ok> look_at_paths(const Caller& caller, const std::vector<JobSpec>& specs, std::vector<std::string>& not_held);
  Result<std::vector<JobRecord>> ended_of(std::span<const QueueId> ids);
  Result<Json> with_launch(Json shown, const JobRecord& job);  // where its spec is shown
  Result<Json> live_jobs(const Caller& caller, const JobQuery& query, std::size_t most);
  Result<JobRecord> record(std::uint64_t id);  // live or from the store
  // Returns once the tasks of large arrays that `meant` names are in the queue: until then no order finds them.
  Result<Ok> let_in(const Unfolding::Meant& meant);
  // Ended jobs that a full disk keeps from the store, the newest first.
  Result<std::vector<JobRecord>> unstored(const JobQuery& query);
  Daemon& daemon_;
  Store& store_;
  Facts facts_;
  PathLooks paths_;
  SharedAnswer futures_;
};

}  // namespace smartmig
