// The daemon as the API sees it: questions go to the owner thread and come back as JSON; what needs simulated futures
// is forked there and computed on the asking thread. Who may do what is decided here and nowhere else: everybody may
// look at the queue; logs, environments and changes of a job are its owner's and the operator's; GPUs, pauses, reloads
// and backups are the operator's. Thread rule: any thread.
#pragma once
#include "serve/daemon/daemon.h"
#include "serve/http/service.h"

namespace smartmig {

class DaemonService final : public Service {
 public:
  struct Facts {
    std::string version, isolation = "cooperative";
    std::function<Result<Settings>()> reload;  // reads the configuration again
    std::optional<std::uint32_t> only_uid;     // whose jobs alone can be run; nothing: everybody's
  };
  DaemonService(Daemon& daemon, Store& store, Facts facts) : daemon_(daemon), store_(store), facts_(std::move(facts)) {}

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
  Result<JobRecord> record(std::uint64_t id);  // live or from the store
  // Ended jobs that a full disk keeps from the store, the newest first.
  Result<std::vector<JobRecord>> unstored(const JobQuery& query);
  Daemon& daemon_;
  Store& store_;
  Facts facts_;
};

}  // namespace smartmig
