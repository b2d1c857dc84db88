#include "cli/gpus/profiling.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "cli/queue/follow.h"
#include "cli/queue/job_words.h"
#include "cli/time_words.h"
#include "eval/progress_meter.h"

namespace smartmig::cli {
namespace {

constexpr int kTries = 3;

double profile_clock_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The job's end, with its output read by the meter as it came.
Result<Json> watch(DaemonClient& client, std::uint64_t id, ProgressMeter& meter) {
  const std::string path = fmt::format("/v1/jobs/{}", id);
  int attempt = 0;
  for (;;) {
    SMARTMIG_TRY(Json job, patient_get(client, path));
    const int last = int(number_at(job, "attempt").value_or(0));
    const bool ended = is_final(job);
    if (last > attempt) {
      attempt = last;
      const auto read =
          client.stream(fmt::format("{}/log?attempt={}&offset=0&follow=1", path, attempt), [&](std::string_view piece) {
            meter.feed(profile_clock_s(), piece);
            return true;
          });
      if (!read && read.error().code != Error::kNotFound) return read.error();
      meter.finish(profile_clock_s());
      continue;
    }
    if (ended) return job;
    pause_s(0.1);
  }
}

// Joules come with the board's samples: those of the last moments a little after the end.
Result<Json> settled(DaemonClient& client, std::uint64_t id) {
  double before = -1;
  for (int i = 0;; ++i) {
    SMARTMIG_TRY(Json job, patient_get(client, fmt::format("/v1/jobs/{}", id)));
    const double joules = number_at(object_at(job, "energy"), "energy_j").value_or(0);
    if (i == 4 || (i > 1 && joules == before)) return job;
    before = joules;
    pause_s(1.2);
  }
}

Result<std::string> model_of(DaemonClient& client, int gpu) {
  SMARTMIG_TRY(const Json answer, client.get("/v1/gpus"));
  for (const Json& board : list_at(answer, "gpus"))
    if (int(number_at(board, "index").value_or(-1)) == gpu) return text_at(board, "model");
  return not_found("the daemon has no GPU {}", gpu);
}

}  // namespace

Result<Ok> Profiling::size(DaemonClient& client, const Profile& wanted) {
  int wrong = 0;
  for (int good = 0; good < plan_.repeat;) {
    SMARTMIG_TRY(const bool right, once(client, wanted));
    if (given_up_) return Ok{};
    if (right) {
      ++good;
    } else if (++wrong == kTries) {
      note(fmt::format("{} was not measured: the daemon used another size {} times; use --emulate or --driver",
                       wanted.name, kTries));
      return Ok{};
    }
  }
  return Ok{};
}

void Profiling::give_up(Result<DaemonClient> client) {
  stopped_ = true;
  if (const std::uint64_t id = job_; id && client)
    if (const auto gone = client->remove(fmt::format("/v1/jobs/{}", id)); !gone)
      fmt::print(stderr, "smartmig: {}\n", gone.error().what);
}

void Profiling::note(std::string words) {
  fmt::print(stderr, "smartmig: {}\n", words);
  notes_.push_back(std::move(words));
}

Result<bool> Profiling::once(DaemonClient& client, const Profile& wanted) {
  given_up_ = stopped_;
  if (given_up_) return false;
  Json spec = plan_.spec;
  spec["min_slices"] = wanted.compute_slices;
  spec["max_slices"] = wanted.compute_slices;
  spec["name"] = "profile " + wanted.name;
  if (wanted.memory_mib > 0) spec["mem_mib"] = wanted.memory_mib;
  SMARTMIG_TRY(const Json answer, client.post("/v1/jobs", spec));
  const Json& ids = list_at(answer, "ids");
  if (ids.empty() || !ids[0].is_number_unsigned())
    return invalid("the daemon's reply has no job number; check that client and daemon have the same version");
  const auto id = ids[0].get<std::uint64_t>();
  job_ = id;
  SMARTMIG_TRY(ProgressMeter meter, ProgressMeter::make(plan_.pattern));
  SMARTMIG_TRY(Json job, watch(client, id, meter));
  job_ = 0;
  const std::string slice = text_at(job, "slice"), profile = slice.substr(0, slice.find('@'));
  if (text_at(job, "state") != "done") {
    note(fmt::format("{} was not measured: {}", wanted.name, job_sentence(job, unix_seconds(unix_now()))));
    given_up_ = true;
    return false;
  }
  if (number_at(job, "oom_restarts").value_or(0) > 0 || number_at(job, "preemptions").value_or(0) > 0 ||
      number_at(job, "attempt").value_or(1) > 1) {
    note(fmt::format("job {} started more than once, so it gives no time for {}; it may need more memory", id,
                     wanted.name));
    given_up_ = true;
    return false;
  }
  SMARTMIG_TRY(job, settled(client, id));
  ProfileRun run;
  SMARTMIG_TRY(run.gpu, model_of(client, int(number_at(job, "gpu").value_or(0))));
  run.profile = profile;
  run.seconds = number_at(job, "ended_at").value_or(0) - number_at(job, "started_at").value_or(0);
  run.joules = number_at(object_at(job, "energy"), "energy_j").value_or(0);
  if (const auto peak = number_at(job, "peak_mib"); peak && *peak > 0) run.peak_mib = int(*peak);
  if (const auto speed = meter.speed()) {
    run.per_s = speed->per_s;
    run.unit = speed->unit;
    if (speed->total && speed->per_s > 0) run.launch_s = std::max(0.0, run.seconds - *speed->total / speed->per_s);
  }
  if (run.seconds <= 0) return invalid("job {} took no time", id);
  runs_.push_back(std::move(run));
  if (profile == wanted.name) return true;
  fmt::print(stderr, "smartmig: the daemon gave job {} {} instead of {}\n", id, profile, wanted.name);
  return false;
}

}  // namespace smartmig::cli
