#include "serve/daemon/pending_commit.h"

#include <signal.h>

#include <cstdlib>

#include "serve/daemon/job_json.h"

namespace smartmig {
namespace {

constexpr Time kRetryDisk{1'000'000};

}  // namespace

void crash_point() {
  static int left = [] {
    const char* text = std::getenv("SMARTMIG_TEST_KILL_AT");
    return text ? std::atoi(text) : 0;
  }();
  if (left > 0 && --left == 0) ::raise(SIGKILL);
}

void PendingCommit::accepted(QueueId id) {
  dirty_.insert(id);
  fresh_.insert(id);
  accepted_.push_back(id);
}

void PendingCommit::respecified(QueueId id) {
  dirty_.insert(id);
  fresh_.insert(id);
}

void PendingCommit::ended(const JobRecord& job) {
  batch_.jobs.push_back(to_row(job, fresh_.erase(job.id) > 0));
  dirty_.erase(job.id);
  energy_dirty_.erase(job.id);
}

void PendingCommit::credited_ended(const JobRecord& job) { batch_.jobs.push_back(to_row(job, false)); }

PendingCommit::Outcome PendingCommit::commit(const std::function<const JobRecord*(QueueId)>& find,
                                             std::vector<EventRow> events, const std::function<std::string()>& meters,
                                             UnixTime now) {
  if (energy_due_ || !batch_.jobs.empty() || !dirty_.empty()) {
    dirty_.insert(energy_dirty_.begin(), energy_dirty_.end());
    batch_.values["energy"] = meters();
    energy_due_ = false;
    energy_dirty_.clear();
  }
  for (const QueueId id : dirty_)
    if (const JobRecord* job = find(id)) batch_.jobs.push_back(to_row(*job, fresh_.count(id) > 0));
  for (EventRow& row : events) batch_.events.push_back(std::move(row));
  if (batch_.empty()) return {trouble_.empty(), {}};
  crash_point();
  const auto stored = store_.commit(batch_);
  crash_point();
  if (stored) {
    trouble_.clear();
    batch_.clear();
    dirty_.clear();
    fresh_.clear();
    accepted_.clear();
    return {true, {}};
  }
  trouble_ = stored.error().what;
  next_try_ = now + kRetryDisk;
  Outcome out{false, std::exchange(accepted_, {})};
  for (const QueueId id : out.unaccepted) {
    fresh_.erase(id);
    dirty_.erase(id);
    std::erase_if(batch_.jobs, [&](const JobRow& row) { return row.id == number(id); });
  }
  for (const JobRow& row : batch_.jobs)
    if (!row.final) dirty_.insert(QueueId(row.id));
  std::erase_if(batch_.jobs, [](const JobRow& row) { return !row.final; });
  return out;
}

std::vector<QueueId> PendingCommit::unstored_ends() const {
  std::set<QueueId> ids;
  for (const JobRow& row : batch_.jobs)
    if (row.final) ids.insert(QueueId(row.id));
  return {ids.begin(), ids.end()};
}

Result<std::optional<JobRow>> PendingCommit::row(QueueId id) const {
  SMARTMIG_TRY(std::optional<JobRow> row, store_.job(number(id)));
  for (const JobRow& pending : batch_.jobs) {
    if (pending.id != number(id)) continue;
    std::string spec = pending.spec.empty() && row ? row->spec : pending.spec;
    row = pending;
    row->spec = std::move(spec);
  }
  return row;
}

}  // namespace smartmig
