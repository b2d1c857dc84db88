// The API (serve/http) over the controller of a Slurm cluster: the same page, questions and metrics as the daemon's. It only
// tells: jobs are submitted, held and cancelled by Slurm's own commands, and every order is answered with that word. Questions
// go to the controller's thread and are answered in its next step; a controller may come and go meanwhile (serve()). Jobs
// are numbered as page_id() says; commands, logs and environments are not shown, since Slurm keeps them.
// Thread rule: serve() and close() on the controller's thread, the rest on any.
#pragma once
#include "serve/daemon/requests.h"
#include "serve/http/service.h"
#include "slurm/controller.h"

namespace smartmig {

class SlurmService final : public Service {
 public:
  SlurmService(LiveClock& clock, SlurmPast& past, std::string version)
      : requests_(clock), past_(past), version_(std::move(version)) {}

  void serve(SlurmController* controller);  // answers who has asked; null: there is none now
  void close();                             // who asks from now on is told that it goes down

  Result<Json> jobs(const Caller& caller, const JobQuery& query) override;
  Result<Json> job(const Caller& caller, std::uint64_t id) override;
  Result<Json> why(const Caller& caller, std::uint64_t id) override;
  Result<Json> world(const Caller& caller) override;
  Result<Json> changes(const Caller& caller, std::uint64_t since) override;
  Result<Json> reasons(const Caller& caller, const Json& body) override;
  Result<Json> futures(const Caller& caller, int count) override;
  Result<Json> gpus(const Caller& caller) override;
  Result<Json> status(const Caller& caller) override;
  Result<Json> power(const Caller& caller, std::uint64_t since) override;
  Result<Lines> events(const Caller& caller, std::uint64_t after, int limit, double wait_s) override;
  std::string metrics() override;
  Health health() override;

  // Not here.
  Result<Json> submit(const Caller&, const Json&, std::optional<std::uint32_t>) override { return refused("sbatch"); }
  Result<Json> cancel(const Caller&, std::uint64_t) override { return refused("scancel"); }
  Result<Json> requeue(const Caller&, std::uint64_t) override { return refused("scontrol requeue"); }
  Result<Json> change_jobs(const Caller&, JobVerb, const Json&) override { return refused("scancel and scontrol"); }
  Result<Json> usage(const Caller&, const UsageQuery&) override { return refused("sacct -o jobid,admincomment"); }
  Result<Json> groups(const Caller&) override { return Json{{"groups", Json::array()}}; }
  Result<Json> set_group(const Caller&, const Json&) override { return refused("sacctmgr"); }
  Result<Json> reservations(const Caller&) override { return Json{{"reservations", Json::array()}}; }
  Result<Json> reserve(const Caller&, const Json&) override { return refused("scontrol create reservation"); }
  Result<Json> unreserve(const Caller&, const Json&) override { return refused("scontrol delete"); }
  Result<Json> eta(const Caller&, std::uint64_t) override { return refused("/v1/futures"); }
  Result<Json> calibration(const Caller&) override { return refused("/v1/futures"); }
  Result<Json> history_of_job(const Caller&, std::uint64_t) override { return refused("sacct"); }
  Result<Json> history_of_command(const Caller&, const Json&) override { return refused("sacct"); }
  Result<Json> whatif(const Caller&, const Json&) override { return refused("smartmig whatif --sacct"); }
  Result<Json> set_gpu(const Caller&, int, bool) override {
    return refused("scontrol update NodeName=... State=DRAIN");
  }
  Result<Json> set_queue(const Caller&, bool) override {
    return refused("scontrol update PartitionName=... State=DOWN");
  }
  Result<Json> reload(const Caller&) override { return refused("a restart of smartmig slurm serve"); }
  Result<Json> set_settings(const Caller&, const Json&) override { return refused("smartmig slurm serve --policy"); }
  Result<Json> backup(const Caller&, const std::string&) override { return refused("Slurm's own state"); }
  Result<Log> log(const Caller&, std::uint64_t, int) override { return refused("the file of sbatch -o"); }

 private:
  template <class T>
  Result<T> ask(std::function<Result<T>(SlurmController&)> work);
  static Error refused(const char* instead);

  Requests requests_;
  SlurmPast& past_;
  std::string version_;
  SlurmController* controller_ = nullptr;  // on its thread
};

}  // namespace smartmig
