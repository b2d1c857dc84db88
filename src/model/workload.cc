#include "model/workload.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string_view>
#include <unordered_set>

#include "base/rng.h"
#include "base/text.h"

namespace smartmig {

int Workload::add_kind(const std::string& kind) {
  const auto found = std::find(kinds.begin(), kinds.end(), kind);
  if (found != kinds.end()) return int(found - kinds.begin());
  kinds.push_back(kind);
  return int(kinds.size()) - 1;
}

void sort_by_submit(Workload& workload) {
  const auto earlier = [](const Job& a, const Job& b) { return a.submit < b.submit; };
  if (std::is_sorted(workload.jobs.begin(), workload.jobs.end(), earlier)) return;
  if (workload.names.empty()) {
    std::stable_sort(workload.jobs.begin(), workload.jobs.end(), earlier);
    return;
  }
  std::vector<std::size_t> order(workload.jobs.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return earlier(workload.jobs[a], workload.jobs[b]); });
  std::vector<Job> jobs;
  std::vector<std::string> names;
  jobs.reserve(order.size());
  names.reserve(order.size());
  for (const std::size_t i : order) {
    jobs.push_back(workload.jobs[i]);
    names.push_back(std::move(workload.names[i]));
  }
  workload.jobs = std::move(jobs);
  workload.names = std::move(names);
}

Result<Ok> validate(const Workload& workload) {
  const Time most = from_seconds(kMaxSeconds);
  if (!workload.names.empty() && workload.names.size() != workload.jobs.size())
    return invalid("{}: {} names for {} jobs", workload.source, workload.names.size(), workload.jobs.size());
  if (workload.jobs.size() >= 0xFFFFFFFFu) return invalid("{}: more than 2^32 - 2 jobs", workload.source);
  if (!(workload.days > 0)) return invalid("{}: the span must be above 0 days, not {}", workload.source, workload.days);
  Time last{0};
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const Job& job = workload.jobs[i];
    const auto wrong = [&](std::string_view what) {
      return invalid("{}, job {}: {}", workload.source, workload.name_of(i), what);
    };
    if (job.submit < Time{0} || job.submit > most) return wrong("the submit time must lie between 0 and 1e10 s");
    if (job.submit < last) return wrong("submitted before the previous job; sort jobs by submit time");
    last = job.submit;
    if (job.deadline != kNever && (job.deadline < -most || job.deadline > most))
      return wrong("the deadline must lie within 1e10 s of time 0");
    bool runs = false;
    for (const Time work : job.work) {
      if (work == kCannotRun) continue;
      if (work < Time{0} || work > most) return wrong("work must lie between 0 and 1e10 s on every slice size");
      runs = true;
    }
    if (!runs) return wrong("runs on no slice size");
    if (job.kind < -1 || job.kind >= int(workload.kinds.size()))
      return wrong("has a kind that is not in the list of kinds");
    if (job.mem_mib < -1) return wrong("memory must not be negative");
    const auto [slows, beside] = job.crowding;
    if (!(slows >= 0 && slows <= kMostSlowdown && beside >= 0 && beside <= kMostBeside))
      return wrong("log_slowdown and beside must lie between 0 and 2");
    if (job.restart > most) return wrong("the restart time must not exceed 1e10 s");
  }
  std::unordered_set<std::string_view> seen;
  seen.reserve(workload.names.size());
  for (const std::string& name : workload.names)
    if (!seen.insert(name).second) return invalid("{}: two jobs are called '{}'", workload.source, name);
  return Ok{};
}

// Kinds and names enter as text, so neither the order of the kind list nor spelled-out index names matter.
std::uint64_t hash_of(const Workload& workload) {
  std::vector<std::uint64_t> kind_hashes{0};
  for (const std::string& kind : workload.kinds) kind_hashes.push_back(hash_text(kind, 1));
  std::uint64_t h = hash_text(workload.reference_gpu);
  h = mix64(h, std::bit_cast<std::uint64_t>(workload.days));
  h = mix64(h, workload.jobs.size());
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const Job& job = workload.jobs[i];
    h = mix64(h, hash_text(workload.name_of(i)));
    h = mix64(h, std::uint64_t(job.submit.count()));
    h = mix64(h, std::uint64_t(job.deadline.count()));
    for (const Time work : job.work) h = mix64(h, std::uint64_t(work.count()));
    h = mix64(h, kind_hashes[std::size_t(job.kind + 1)]);
    h = mix64(h, std::uint64_t(job.mem_mib));
    h = mix64(h, std::uint64_t(job.restart < Time{0} ? -1 : job.restart.count()));
    if (job.crowding.log_slowdown == 0) continue;
    h = mix64(h, std::bit_cast<std::uint64_t>(job.crowding.log_slowdown));
    h = mix64(h, std::bit_cast<std::uint64_t>(job.crowding.beside));
  }
  return h;
}

}  // namespace smartmig
