#include "cli/queue/follow.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace smartmig::cli {
namespace {

constexpr double kPatience_s = 30;

bool unreachable(const Error& error) {
  return error.code == Error::kIo || error.code == Error::kLost || error.code == Error::kTimeout;
}

// A person who waits for a job that has not started reads so once, and where to ask why; pipes stay as they are.
void tell_once(bool& told, std::uint64_t id, const Json& job) {
  const std::string state = text_at(job, "state", "");
  if (told || (state != "queued" && state != "held") || ::isatty(STDERR_FILENO) != 1) return;
  told = true;
  fmt::print(stderr, "smartmig: job {} is {}; smartmig why {} explains what it is waiting for\n", id, state, id);
}

double clock_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

void pause_s(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

Result<Json> patient_get(DaemonClient& client, const std::string& path) {
  const double begin = clock_s();
  for (;;) {
    auto answer = client.get(path);
    if (answer || !unreachable(answer.error()) || clock_s() - begin > kPatience_s) return answer;
    pause_s(0.5);
  }
}

Result<Json> follow_job(DaemonClient& client, std::uint64_t id, std::FILE* out) {
  const std::string path = fmt::format("/v1/jobs/{}", id);
  int attempt = 0;
  std::uint64_t offset = 0;
  double nap = 0.05, broken_since = -1;
  bool told = false;
  for (;;) {
    SMARTMIG_TRY(const Json job, patient_get(client, path));
    if (attempt == 0) tell_once(told, id, job);
    if (const int last = int(number_at(job, "attempt").value_or(0)); last != attempt) {
      if (attempt > 0) fmt::print(stderr, "smartmig: job {} starts again, attempt {}\n", id, last);
      attempt = last;
      offset = 0;
    }
    std::uint64_t seen = 0;
    if (attempt > 0) {
      const auto read = client.stream(
          fmt::format("{}/log?attempt={}&offset={}&follow=1", path, attempt, offset), [&](std::string_view piece) {
            seen += piece.size();
            return std::fwrite(piece.data(), 1, piece.size(), out) == piece.size() && std::fflush(out) == 0;
          });
      offset += seen;
      if (std::ferror(out)) return io_error("cannot write the log to standard output");
      if (!read && read.error().code != Error::kNotFound) {
        if (!unreachable(read.error())) return read.error();
        if (broken_since < 0 || seen > 0) broken_since = clock_s();
        if (clock_s() - broken_since > kPatience_s) return read.error();
        pause_s(0.5);
        continue;
      }
      broken_since = -1;
    }
    if (is_final(job)) return job;  // it was final before the log was read to its end
    nap = seen > 0 ? 0.05 : std::min(1.0, nap * 1.5);
    pause_s(nap);
  }
}

// All are asked about once a second, the first that is left five times: who waits for one job, or for the last of many, is
// told soon, and the daemon answers a few questions a second.
Result<bool> wait_for(DaemonClient& client, const std::vector<std::uint64_t>& ids, double timeout_s,
                      const std::function<void(const Json&)>& ended) {
  constexpr double kAll_s = 1, kFirst_s = 0.2;
  const double begin = clock_s();
  std::vector<std::uint64_t> left = ids;
  double nap = 0.05, all_asked = begin - kAll_s;
  bool told = false;
  for (;;) {
    const bool all = clock_s() - all_asked >= kAll_s || nap < kFirst_s;
    if (all) all_asked = clock_s();
    std::vector<std::uint64_t> still;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (!all && i > 0 && !still.empty()) {  // the first still runs
        still.insert(still.end(), left.begin() + std::ptrdiff_t(i), left.end());
        break;
      }
      SMARTMIG_TRY(const Json job, patient_get(client, fmt::format("/v1/jobs/{}", left[i])));
      if (is_final(job))
        ended(job);
      else {
        tell_once(told, left[i], job);
        still.push_back(left[i]);
      }
    }
    left = std::move(still);
    if (left.empty()) return true;
    if (timeout_s >= 0 && clock_s() - begin >= timeout_s) return false;
    nap = std::min(kFirst_s, nap * 1.3);
    pause_s(timeout_s >= 0 ? std::min(nap, std::max(0.01, timeout_s - (clock_s() - begin))) : nap);
  }
}

}  // namespace smartmig::cli
