// A Service in memory for tests and the fuzzer: jobs belong to who submitted them, every change is a line of the
// journal, logs are files that the test writes. Thread rule: any thread.
#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/errors.h"
#include "queue/answers/service.h"

namespace smartmig {

class FakeService final : public Service {
 public:
  Result<Json> submit(const Caller& caller, const Json& body, std::optional<std::uint32_t>) override {
    const std::scoped_lock lock(mutex_);
    const bool many = body.contains("jobs");
    if (many && !body["jobs"].is_array()) return invalid("jobs: a list of specs");
    Json answer = {{"ids", Json::array()}, {"jobs", Json::array()}, {"warnings", Json::array()}};
    const Json list = many ? body["jobs"] : Json::array({body});
    for (const Json& spec : list)
      if (!spec.is_object() || !spec.contains("command")) return invalid("command: missing");
    for (const Json& spec : list) {
      Json job = {{"id", jobs_.size() + 1}, {"uid", caller.uid}, {"state", "queued"}, {"spec", spec}};
      answer["ids"].push_back(job["id"]);
      answer["jobs"].push_back(job);
      note("submitted", jobs_.size() + 1);
      jobs_.push_back(std::move(job));
    }
    return answer;
  }
  Result<Json> jobs(const Caller&, const JobQuery& query) override {
    const std::scoped_lock lock(mutex_);
    last_query = query;
    Json list = Json::array();
    for (const Json& job : jobs_)
      if (job["id"] > query.after && int(list.size()) < query.limit && (!query.uid || job["uid"] == *query.uid))
        list.push_back(job);
    return Json{{"jobs", list}, {"more", false}};
  }
  Result<Json> job(const Caller&, std::uint64_t id) override {
    const std::scoped_lock lock(mutex_);
    if (id == 0 || id > jobs_.size()) return not_found("there is no job {}", id);
    return jobs_[id - 1];
  }
  Result<Json> cancel(const Caller& caller, std::uint64_t id) override { return change(caller, id, "cancelled"); }
  Result<Json> requeue(const Caller& caller, std::uint64_t id) override { return change(caller, id, "queued"); }
  Result<Json> change_jobs(const Caller& caller, JobVerb verb, const Json& body) override {
    return change_all(caller, body,
                      verb == JobVerb::kCancel ? "cancelled"
                      : verb == JobVerb::kHold ? "held"
                                               : "queued");
  }
  Result<Json> usage(const Caller&, const UsageQuery& query) override {
    return Json{{"by", query.by}, {"rows", Json::array()}};
  }
  Result<Json> groups(const Caller&) override { return Json{{"groups", Json::array()}}; }
  Result<Json> set_group(const Caller&, const Json& body) override { return Json{{"asked", body}}; }
  Result<Json> reservations(const Caller&) override { return Json{{"reservations", Json::array()}}; }
  Result<Json> reserve(const Caller&, const Json& body) override { return Json{{"asked", body}}; }
  Result<Json> unreserve(const Caller&, const Json& body) override { return Json{{"asked", body}}; }
  Result<Json> why(const Caller&, std::uint64_t id) override { return Json{{"job", id}, {"code", "no_room"}}; }
  Result<Json> eta(const Caller&, std::uint64_t id) override { return Json{{"job", id}, {"futures", 20}}; }
  Result<Json> calibration(const Caller&) override {
    return Json{{"interval_ratio", 0.8}, {"forecasts", Json::array()}};
  }
  Result<Json> history_of_job(const Caller&, std::uint64_t id) override {
    return Json{{"signature", "x"}, {"runs", id}};
  }
  Result<Json> history_of_command(const Caller&, const Json& body) override { return Json{{"asked", body}}; }
  Result<Json> whatif(const Caller&, const Json& body) override {
    std::unique_lock lock(mutex_);
    ++slow_;
    news_.notify_all();
    news_.wait(lock, [&] { return !holds_slow_ || closing_; });
    --slow_;
    return Json{{"asked", body}};
  }
  Result<Json> world(const Caller& caller) override { return Json{{"kind", "live"}, {"signed_in", caller.known()}}; }
  Result<Json> changes(const Caller&, std::uint64_t since) override { return Json{{"since", since}}; }
  Result<Json> reasons(const Caller&, const Json& body) override { return Json{{"asked", body}}; }
  Result<Json> futures(const Caller&, int count) override { return Json{{"futures", count}}; }
  Result<Json> gpus(const Caller&) override { return Json{{"gpus", Json::array()}}; }
  Result<Json> status(const Caller& caller) override {
    return Json{{"uid", caller.uid}, {"operator", caller.operator_rights}};
  }
  Result<Json> set_gpu(const Caller& caller, int gpu, bool drain) override {
    if (!caller.operator_rights) return no_permission("only an operator drains");
    if (gpu >= 8) return not_found("there is no GPU {}", gpu);
    return Json{{"gpu", gpu}, {"drained", drain}};
  }
  Result<Json> power(const Caller&, std::uint64_t since) override { return Json{{"since", since}}; }
  Result<Json> set_settings(const Caller&, const Json& body) override { return Json{{"asked", body}}; }
  Result<Json> set_queue(const Caller&, bool pause) override { return Json{{"paused", pause}}; }
  Result<Json> reload(const Caller&) override { return unsupported("there is no file to read again"); }
  Result<Json> backup(const Caller&, const std::string& path) override { return Json{{"path", path}}; }
  Result<Log> log(const Caller& caller, std::uint64_t id, int) override {
    const std::scoped_lock lock(mutex_);
    if (id == 0 || id > jobs_.size()) return not_found("there is no job {}", id);
    if (!caller.operator_rights && jobs_[id - 1]["uid"] != caller.uid) return no_permission("the log of another user");
    return Log{log_path, log_ended};
  }
  Result<Lines> events(const Caller&, std::uint64_t after, int limit, double wait_s) override {
    std::unique_lock lock(mutex_);
    news_.wait_for(lock, std::chrono::duration<double>(wait_s), [&] { return closing_ || lines_.size() > after; });
    Lines found;
    found.closing = closing_;
    for (std::uint64_t n = after; n < lines_.size() && int(found.lines.size()) < limit; ++n)
      found.lines.emplace_back(n + 1, lines_[n]);
    return found;
  }
  std::string metrics() override { return "smartmig_up 1\n"; }
  Health health() override { return {true, ready, ready ? "" : "the disk is full"}; }

  void say(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    note(name, 0);
  }
  void close() {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
    news_.notify_all();
  }
  void hold_slow(bool on) {  // questions that take long are not answered meanwhile
    const std::scoped_lock lock(mutex_);
    holds_slow_ = on;
    news_.notify_all();
  }
  bool wait_for_slow(int asked) {
    std::unique_lock lock(mutex_);
    return news_.wait_for(lock, std::chrono::seconds(30), [&] { return slow_ >= asked; });
  }
  void end_log() {
    const std::scoped_lock lock(mutex_);
    log_ended = true;
  }
  std::size_t count() {
    const std::scoped_lock lock(mutex_);
    return jobs_.size();
  }

  // Set before the service is shared.
  std::string log_path;
  bool log_ended = false, ready = true;
  JobQuery last_query;

 private:
  bool holds_slow_ = false;
  int slow_ = 0;  // that are being answered
  Result<Json> change_all(const Caller& caller, const Json& body, const char* state) {
    if (!body.contains("ids") || !body["ids"].is_array()) return invalid("ids: missing");
    Json answer = {{"jobs", Json::array()}, {"refused", Json::array()}};
    for (const Json& id : body["ids"]) {
      auto done = change(caller, id.is_number_unsigned() ? id.get<std::uint64_t>() : 0, state);
      answer[done ? "jobs" : "refused"].push_back(done ? *done : Json{{"id", id}, {"message", done.error().what}});
    }
    return answer;
  }
  Result<Json> change(const Caller& caller, std::uint64_t id, const char* state) {
    const std::scoped_lock lock(mutex_);
    if (id == 0 || id > jobs_.size()) return not_found("there is no job {}", id);
    Json& job = jobs_[id - 1];
    if (!caller.operator_rights && job["uid"] != caller.uid) return no_permission("the job of another user");
    if (job["state"] == "cancelled") return busy_error("the job has ended");
    job["state"] = state;
    note(state, id);
    return job;
  }
  void note(const std::string& name, std::uint64_t job) {
    lines_.push_back(
        fmt::format("{{\"t\":{},\"seq\":{},\"ev\":\"{}\",\"job\":{}}}", lines_.size(), lines_.size(), name, job));
    news_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable news_;
  std::vector<Json> jobs_;
  std::vector<std::string> lines_;
  bool closing_ = false;
};

}  // namespace smartmig
