#include "serve/attempts/suspensions.h"

#include <algorithm>

#include "base/json.h"

namespace smartmig {
namespace {

constexpr std::string_view kStays = "it stays suspended: ";
constexpr Time kNotSoon = std::chrono::hours(24 * 30);

}  // namespace

Time Suspensions::believed_left(const JobRecord& job) { return *job.suspended + kNotSoon; }

void Suspensions::suspend(JobRecord& job) {
  job.suspended = std::max(Time{1'000'000}, session_.time_to_finish(job.id));
  ++job.counts.suspended;
  left_[job.id] = believed_left(job);
  to_carry_out_[job.id] = true;
  session_.note("suspended", fmt::format("\"job\":{}", job.id));
  book_.changed(job);
}

void Suspensions::resume(JobRecord& job) {
  left_[job.id] = *job.suspended;
  job.suspended.reset();
  if (job.reason.starts_with(kStays)) job.reason.clear();
  to_carry_out_[job.id] = false;
  session_.note("continued", fmt::format("\"job\":{}", job.id));
  book_.changed(job);
}

void Suspensions::again(const JobRecord& job) {
  if (job.suspended || job.counts.suspended > 0) to_carry_out_[job.id] = job.suspended.has_value();
}

void Suspensions::believe_again(const JobRecord& job) {
  left_.emplace(job.id, job.suspended ? believed_left(job) : std::max(Time{1}, session_.time_to_finish(job.id)));
}

void Suspensions::tell_belief() {
  if (left_.empty() || session_.fleet().has_news()) return;
  for (const auto& [id, left] : std::exchange(left_, {})) {
    const JobRecord* job = book_.find(id);
    if (!job || job->status != JobStatus::kRunning) continue;
    for (const auto& [slice, holder] : table_.slices())
      if (holder == id) session_.revise(*job, GpuId(slice.first), PlacementId(slice.second), left);
  }
}

SliceGuard::Others Suspensions::others_beside(const JobRecord& job) const {
  for (const auto& [slice, holder] : table_.slices())
    if (holder == job.id) return guard_.others_beside(slice, attempt_of(job));
  return {};
}

void Suspensions::carry_out() {
  for (const auto& [id, on] : std::exchange(to_carry_out_, {})) {
    JobRecord* job = book_.find(id);
    if (!job || job->status != JobStatus::kRunning) continue;
    if (const auto others = on ? SliceGuard::Others() : others_beside(*job)) {
      session_.note("start_refused",
                    fmt::format("\"job\":{},\"words\":{}", id, json_text(std::string(kStays) + others.words)));
      suspend(*job);
      job->reason =
          fmt::format("{}{}; smartmig continue {} tries again", kStays, others.words, id);  // its order was answered
      book_.changed(*job);
      continue;
    }
    if (const auto done = runner_.suspend(attempt_of(*job), on); !done)
      session_.note("suspend_failed", fmt::format("\"job\":{},\"words\":{}", id, json_text(done.error().what)));
    crash_point();
  }
}

}  // namespace smartmig
