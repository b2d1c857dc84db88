// The API (src/http) over the controller of a cluster, with the same page, queries and metrics as the daemon's. It is
// read-only: the engine's own commands submit, hold and cancel jobs, and every change request is answered with the name
// of that command. The controller's thread answers queries in its next step; controllers may be replaced in between
// (serve()). Jobs are numbered by page_id(). Commands, logs and environments are not shown, since the engine keeps
// them. serve() and close() on the controller's thread, everything else on any.
#pragma once
#include "cluster/controller.h"
#include "queue/answers/requests.h"
#include "queue/answers/service.h"

namespace smartmig {

class ClusterService final : public Service {
 public:
  ClusterService(LiveClock& clock, ClusterPast& past, const EngineWords& words, std::string version)
      : requests_(clock), past_(past), words_(words), version_(std::move(version)) {}

  void serve(ClusterController* controller);  // answers who has asked; null: there is none now
  void close();                               // who asks from now on is told that it goes down

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
  Result<Json> submit(const Caller&, const Json&, std::optional<std::uint32_t>) override {
    return refused(words_.submit);
  }
  Result<Json> cancel(const Caller&, std::uint64_t) override { return refused(words_.cancel); }
  Result<Json> requeue(const Caller&, std::uint64_t) override { return refused(words_.requeue); }
  Result<Json> change_jobs(const Caller&, JobVerb, const Json&) override { return refused(words_.change); }
  Result<Json> usage(const Caller&, const UsageQuery&) override { return refused(words_.usage); }
  Result<Json> groups(const Caller&) override { return Json{{"groups", Json::array()}}; }
  Result<Json> set_group(const Caller&, const Json&) override { return refused(words_.groups); }
  Result<Json> reservations(const Caller&) override { return Json{{"reservations", Json::array()}}; }
  Result<Json> reserve(const Caller&, const Json&) override { return refused(words_.reserve); }
  Result<Json> unreserve(const Caller&, const Json&) override { return refused(words_.unreserve); }
  Result<Json> eta(const Caller&, std::uint64_t) override { return refused("/v1/futures"); }
  Result<Json> calibration(const Caller&) override { return refused("/v1/futures"); }
  Result<Json> history_of_job(const Caller&, std::uint64_t) override { return refused(words_.history); }
  Result<Json> history_of_command(const Caller&, const Json&) override { return refused(words_.history); }
  Result<Json> whatif(const Caller&, const Json&) override { return refused(words_.whatif); }
  Result<Json> set_gpu(const Caller&, int, bool) override { return refused(words_.drain); }
  Result<Json> set_queue(const Caller&, bool) override { return refused(words_.pause); }
  Result<Json> reload(const Caller&) override { return refused(words_.restart); }
  Result<Json> set_settings(const Caller&, const Json&) override { return refused(words_.settings); }
  Result<Json> backup(const Caller&, const std::string&) override { return refused(words_.state); }
  Result<Log> log(const Caller&, std::uint64_t, int) override { return refused(words_.log); }

 private:
  template <class T>
  Result<T> ask(std::function<Result<T>(ClusterController&)> work);
  Error refused(const char* instead) const;

  Requests requests_;
  ClusterPast& past_;
  const EngineWords& words_;
  std::string version_;
  ClusterController* controller_ = nullptr;  // on its thread
};

}  // namespace smartmig
