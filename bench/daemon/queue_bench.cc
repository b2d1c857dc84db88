// What the owner of the queue bears: decisions over a long queue, a great many jobs, a start over a long history.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "bench.h"
#include "queue/config/places.h"
#include "queue/jobs/job_json.h"

namespace smartmig::bench {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }
constexpr Caller kUsers[] = {{1001, 1001, false}, {1002, 1002, false}, {1003, 1003, false}};

std::uint64_t ended(const Daemon& daemon) {
  std::uint64_t sum = 0;
  for (const std::uint64_t n : daemon.counts().ended) sum += n;
  return sum;
}

// False: it was refused.
bool submit(Daemon& daemon, std::uint64_t number, const QueueMix& mix = {}) {
  JobSpec spec = some_job(number);
  if (mix.deadlines && number % 2) spec.deadline = daemon.now() + *spec.estimate * int(2 + number % 5);
  std::vector<std::string> warnings;
  const auto ids = daemon.jobs().submit(kUsers[number % std::uint64_t(mix.users)], {spec}, warnings);
  if (!ids) fmt::print(stderr, "{}\n", ids.error().what);
  return bool(ids);
}

}  // namespace

bool decisions(const std::string& directory, const std::string& policy, int queued, int ends, const QueueMix& mix) {
  const auto host = emulated(directory, policy, std::chrono::seconds(60));
  if (!host) return false;
  Daemon& daemon = host->daemon();
  std::uint64_t number = 0;
  const auto filling = Clock::now();
  while (number < std::uint64_t(queued)) {
    for (int i = 0; i < 100; ++i)
      if (!submit(daemon, number++, mix)) return false;
    daemon.step();
  }
  const double filled = since(filling);
  std::vector<double> steps;
  const std::uint64_t before = daemon.counts().decisions, first = ended(daemon);
  std::vector<double> times;
  const auto began = Clock::now();
  for (std::uint64_t last = first; ended(daemon) - first < std::uint64_t(ends);) {
    host->clock().wait_until(daemon.next_due());
    for (; last < ended(daemon); ++last)  // one comes for each that went
      if (!submit(daemon, number++, mix)) return false;
    const std::uint64_t decided = daemon.counts().decisions;
    const auto step = Clock::now();
    daemon.step();
    steps.push_back(since(step));
    // The latest ones of the ring.
    const auto& ring = daemon.state().figures.decision_times();
    for (std::uint64_t d = decided; d < daemon.counts().decisions; ++d) times.push_back(ring[d % ring.size()]);
  }
  const double p99 = percentile(times, 0.99);
  fmt::print(
      "decisions: {} on 8 GPUs with {} queued, {} user{}, {} deadlines: {} decisions, p50 {:.3f} ms, p99 {:.3f} ms, most {:.3f} ms; "
      "whole step (admission, decision, durable commit, effects) p50 {:.2f} ms, p99 {:.2f} ms; bar p99 20 ms: {}\n",
      policy, daemon.live_jobs().size(), mix.users, mix.users == 1 ? "" : "s",
      mix.deadlines ? "every other with" : "no", daemon.counts().decisions - before, 1e3 * percentile(times, 0.5),
      1e3 * p99, 1e3 * percentile(times, 1), 1e3 * percentile(steps, 0.5), 1e3 * percentile(steps, 0.99),
      verdict(p99 < 0.02));
  fmt::print("  {} submitted in {:.1f} s, then {} ended in {:.1f} s\n", queued, filled, ends, since(began));
  return p99 < 0.02;
}

bool many_jobs(const std::string& directory, const std::string& policy, int jobs) {
  const auto host = emulated(directory, policy, std::chrono::seconds(60));
  if (!host) return false;
  Daemon& daemon = host->daemon();
  const auto began = Clock::now();
  std::uint64_t number = 0;
  double early_mb = 0, last_mb = 0;
  std::size_t most_live = 0;
  std::vector<int> marks;
  for (const int share : {10, 50, 100}) marks.push_back(int(std::int64_t(jobs) * share / 100));
  std::size_t mark = 0;
  while (ended(daemon) < std::uint64_t(jobs)) {
    while (daemon.live_jobs().size() < 256 && number < std::uint64_t(jobs))
      if (!submit(daemon, number++)) return false;
    daemon.step();
    most_live = std::max(most_live, daemon.live_jobs().size());
    while (mark < marks.size() && ended(daemon) >= std::uint64_t(marks[mark])) {
      last_mb = usage_of(0).rss_mb;
      if (mark == 0) early_mb = last_mb;
      fmt::print("many jobs: {} of {} ended after {:.1f} s wall, {:.1f} emulated days, {:.1f} MB resident\n",
                 ended(daemon), jobs, since(began), unix_seconds(daemon.now()) / 86400, last_mb);
      std::fflush(stdout);
      ++mark;
    }
    if (ended(daemon) < std::uint64_t(jobs)) host->clock().wait_until(daemon.next_due());
  }
  const UnixTime settled = daemon.now() + std::chrono::minutes(3);
  while (daemon.now() < settled) {  // the last joules
    host->clock().wait_until(std::min(settled, daemon.next_due()));
    daemon.step();
  }
  const double wall = since(began);
  const EnergyTotals energy = daemon.state().boards.meter().totals();
  double boards_j = 0;
  for (std::size_t g = 0; g < daemon.state().boards.size(); ++g)
    if (const auto joules = daemon.world().driver.energy(GpuId(g))) boards_j += *joules;
  const double sum = energy.jobs_j + energy.idle_j + energy.unattributed_j;
  const double off = std::abs(sum - energy.booked_j()) / energy.booked_j();
  const double off_boards = std::abs(boards_j - energy.booked_j()) / boards_j;
  const auto done = daemon.counts().ended[std::size_t(JobStatus::kDone)];
  const bool kept = done == std::uint64_t(jobs) && off < 1e-3 && off_boards < 1e-3 && last_mb < 1.25 * early_mb + 4;
  fmt::print(
      "  {} done, {} refused; {:.0f} jobs/s, at most {} alive; booked {:.4g} MJ = jobs {:.4g} + idle {:.4g} + "
      "unattributed "
      "{:.4g} MJ (off by {:.1e}); the boards' counters {:.4g} MJ (off by {:.1e}); all done, energy within 0.1 %, "
      "memory flat: {}\n",
      done, daemon.counts().refused, double(jobs) / wall, most_live, energy.booked_j() / 1e6, energy.jobs_j / 1e6,
      energy.idle_j / 1e6, energy.unattributed_j / 1e6, off, boards_j / 1e6, off_boards, verdict(kept));
  return kept;
}

bool recovery(const std::string& directory, int ended_jobs, int live) {
  std::filesystem::create_directories(directory);
  const std::string file = directory + "/" + kStoreFile;
  {
    auto store = Store::open(file);
    if (!store) {
      fmt::print(stderr, "{}\n", store.error().what);
      return false;
    }
    StoreBatch batch;
    std::uint64_t sequence = 0;
    for (int i = 1; i <= ended_jobs + live; ++i) {
      JobRecord job;
      job.id = QueueId(i);
      job.owner.uid = job.owner.gid = 1001;
      job.owner.name = "1001";
      job.spec = some_job(number(job.id));
      job.work.estimate = *job.spec.estimate;
      job.times.submitted = from_unix_us(1'000'000);
      if (i <= ended_jobs) {
        job.status.found(JobStatus::kDone);
        job.attempt = 1;
        job.place.gpu = i % 8;
        job.place.slice = parse_job_slice("2g.10gb@0");
        job.times.started = job.times.first_started = from_unix_us(2'000'000);
        job.times.ended = from_unix_us(3'000'000);
        job.exit.code = 0;
        job.energy.joules = 1000;
      }
      batch.jobs.push_back(to_row(job, true));
      for (int e = 0; e < 5; ++e)
        batch.events.push_back(
            {++sequence, 1'000'000, fmt::format("{{\"at\":1.0,\"note\":\"event {} of job {}\"}}", e, i)});
      if (i % 5000 == 0 || i == ended_jobs + live) {
        if (const auto stored = (*store)->commit(batch); !stored) {
          fmt::print(stderr, "{}\n", stored.error().what);
          return false;
        }
        batch.clear();
      }
    }
  }
  // As after a restart of the host: the file is not in memory.
  if (const int fd = ::open(file.c_str(), O_RDONLY); fd >= 0) {
    ::fsync(fd);
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    ::close(fd);
  }
  const auto began = Clock::now();
  const auto host = emulated(directory, "planner", std::chrono::seconds(60));
  if (!host) return false;
  const double opened = since(began);
  host->daemon().step();
  const double ready = since(began);
  const bool kept = ready < 2 && host->daemon().live_jobs().size() == std::size_t(live);
  fmt::print(
      "recovery: {} ended and {} live jobs, {} events, {:.0f} MB on disk: open after {:.3f} s, first step after {:.3f} "
      "s; bar 2 "
      "s: {}\n",
      ended_jobs, live, 5 * (ended_jobs + live), double(host->store().bytes()) / 1e6, opened, ready, verdict(kept));
  return kept;
}

}  // namespace smartmig::bench
