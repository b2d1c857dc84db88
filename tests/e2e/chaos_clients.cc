#include "chaos_clients.h"

#include <fmt/format.h>

#include <chrono>

namespace smartmig::chaos {
namespace {

constexpr int kMostWaiting = 60;  // the queue is kept short, so that its end is not far

// A job of a random kind. Durations are short: what matters happens at beginnings and ends.
Json random_job(const ChaosWorld& world, Rng& rng, const std::vector<std::uint64_t>& own, Submission& submission) {
  static constexpr const char* kRoles[] = {"ok",       "ok",         "ok",         "ok",         "fail",
                                           "stubborn", "fork",       "oom",        "hopeless",   "timed",
                                           "stubborn", "checkpoint", "checkpoint", "checkpoint", "checkpoint"};
  std::string role = kRoles[rng.below(std::size(kRoles))];
  if (role == "hopeless" && rng.below(3) > 0) role = "oom";  // it takes five attempts
  submission.role = role;
  const bool emulated = role == "oom" || role == "hopeless";
  // Those that can be stopped are long, take a whole GPU and have time: others would be late behind them.
  const double work_s = role == "timed" ? 30 : role == "checkpoint" ? rng.uniform(1, 4) : rng.uniform(0.02, 0.9);
  Json command = {programs().job, world.evidence(),
                  emulated          ? "run"
                  : role == "timed" ? "ok"
                                    : role,
                  fmt::format("{:.3f}", work_s)};
  Json job;
  if (emulated) {
    for (const std::string& word :
         {programs().emulated_job, std::string("--work-s"), fmt::format("{:.2f}", rng.uniform(0.1, 0.4)),
          std::string("--steps"), std::string("2"), std::string("--mem-curve"),
          std::string(role == "hopeless" ? "0:1G,0.05:60G" : "0:1G,0.05:8G")})
      command.push_back(word);
  }
  job["mem_mib"] = emulated ? 2000 : int(1000 + rng.below(3) * 6000);
  job["command"] = std::move(command);
  job["name"] = submission.name;
  job["directory"] = world.root();
  job["grace_s"] = rng.uniform(0.05, 0.4);
  job["estimate_s"] = role == "checkpoint" ? work_s : rng.uniform(0.2, 3);
  if (rng.below(3) == 0) job["deadline_s"] = rng.uniform(0.5, 20);
  if (role == "checkpoint" || rng.below(12) == 0) job["min_slices"] = 7;
  if (role == "timed") job["time_limit_s"] = rng.uniform(0.1, 0.5);
  if (role == "checkpoint") {
    job["checkpoint_signal"] = "USR1";
    job["restart_s"] = 0.02;
    job["deadline_s"] = 120;
  }
  if (!emulated && rng.below(2) == 0) {  // started before its slice is free; some never call CUDA
    job["prelaunch"] = true;
    if (rng.below(4) > 0) job["environment"] = {"CHAOS_CUDA=" + programs().cuda};
  }
  if (role == "ok" && rng.below(3) == 0) job["requeue"] = true;
  submission.preemptible = role == "checkpoint" || job.contains("requeue");
  if (rng.below(12) == 0) {
    job["array"] = {0, 3, 7};
    job["array_limit"] = 2;
  }
  static constexpr const char* kWhen[] = {"afterok", "afterany", "afternotok"};
  if (!own.empty() && rng.below(8) == 0)
    job["dependencies"] = {fmt::format("{}:{}", kWhen[rng.below(3)], own[rng.below(own.size())])};
  return job;
}

void release_held(const ChaosWorld& world) { (void)call(world, "POST", "/v1/jobs/release", {{"state", "held"}}); }

}  // namespace

Crowd::Crowd(const ChaosWorld& world, Ledger& ledger, int clients) : world_(world), ledger_(ledger) {
  for (int i = 0; i < clients; ++i) threads_.emplace_back([this, i] { client(i); });
  threads_.emplace_back([this] { operate(); });
}

void Crowd::stop() {
  over_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  (void)world_.control({"clear"});
}

bool Crowd::pause(Rng& rng, double low_s, double high_s) const {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(rng.uniform(low_s, high_s));
  while (!over_ && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return !over_;
}

void Crowd::client(int number) {
  Rng rng(world_.seed(), std::uint64_t(number) + 1);
  std::vector<std::uint64_t> own;
  for (int n = 0; pause(rng, 0.03, 0.3); ++n) {
    const std::uint64_t dice = own.empty() ? 9 : rng.below(10);
    if (dice == 0 || dice == 1) {
      const std::uint64_t id = own[own.size() - 1 - rng.below(std::min<std::size_t>(own.size(), 6))];
      const auto answer = call(world_, "DELETE", fmt::format("/v1/jobs/{}", id));
      ledger_.cancelled(id, bool(answer));
    } else if (dice == 3 &&
               rng.below(2) == 0) {  // one that has begun ahead gives its processes up, and may begin again
      const std::uint64_t id = own[own.size() - 1 - rng.below(std::min<std::size_t>(own.size(), 4))];
      (void)call(world_, "POST", "/v1/jobs/hold", {{"ids", {id}}});
      (void)pause(rng, 0, 0.3);
      release_held(world_);
    } else if (dice == 2) {
      const std::uint64_t id = own[rng.below(own.size())];
      ledger_.requeued(id);
      (void)call(world_, "POST", fmt::format("/v1/jobs/{}/requeue", id));
    } else {
      if (const auto status = call(world_, "GET", "/v1/status");
          status && (*status)["queue"].value("queued", 0) > kMostWaiting)
        continue;
      Submission submission;
      submission.name = fmt::format("c{}-{}", number, n);
      const Json job = random_job(world_, rng, own, submission);
      if (const auto answer = call(world_, "POST", "/v1/jobs", job)) {
        submission.acknowledged = true;
        submission.ids = (*answer)["ids"].get<std::vector<std::uint64_t>>();
        own.insert(own.end(), submission.ids.begin(), submission.ids.end());
      }
      ledger_.submitted(std::move(submission));
    }
    ledger_.did();
  }
}

void mend(const ChaosWorld& world) {
  release_held(world);  // the daemon may have been away when its client did that
  const auto answer = call(world, "GET", "/v1/gpus");
  if (!answer) return;
  for (const Json& gpu : (*answer)["gpus"])
    if (gpu["state"] != "ok") (void)call(world, "POST", fmt::format("/v1/gpus/{}/resume", gpu["index"].get<int>()));
}

void Crowd::break_something(Rng& rng) {
  const std::string gpu = std::to_string(rng.below(4));
  switch (rng.below(8)) {
    case 0:
      (void)world_.control({"fault", "gpu-lost", "--gpu", gpu});
      break;
    case 1:
      (void)world_.control({"fault", "xid", "--gpu", gpu, "--code", "74"});
      break;
    case 2:
      (void)world_.control({"fault", "ecc", "--gpu", gpu, "--count", "1"});
      break;
    case 3:
      (void)world_.control({"fault", "create-fail", "--gpu", gpu, "--count", "1"});
      break;
    case 4:
      (void)world_.control({"fault", "ci-refused", "--gpu", gpu, "--count", "1"});
      break;
    case 5:
      (void)world_.control({"fault", "destroy-fail", "--gpu", gpu, "--count", "1"});
      break;
    case 6:
      (void)world_.control({"fault", "in-use-lag", "--gpu", gpu, "--ms", "200", "--count", "3"});
      break;
    default:  // a handle that outlives its process's work: this one's, until it is cleared
      (void)world_.control({"fault", "leaked-handle", "--gpu", gpu, "--pid", std::to_string(::getpid())});
  }
  ++faults_;
}

void Crowd::operate() {
  Rng rng(world_.seed(), 1000);
  while (pause(rng, 0.2, 1.2)) {
    break_something(rng);
    if (!pause(rng, 0.1, 1.2)) break;
    (void)world_.control({"clear"});
    mend(world_);
    ledger_.did();
  }
}

}  // namespace smartmig::chaos
