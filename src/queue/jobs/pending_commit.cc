#include "queue/jobs/pending_commit.h"

#include <signal.h>

#include <cstdlib>
#include <utility>

#include "queue/jobs/job_json.h"

namespace smartmig {
namespace {

constexpr Time kRetryDisk{1'000'000};
// What orders to some hundred jobs change, and what the pages of a row and of its indices take.
constexpr std::uint64_t kRoomForStep = 4u << 20, kPagesOfRow = 8u << 10;

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
  put(to_row(job, fresh_.erase(job.id) > 0));
  dirty_.erase(job.id);
  energy_dirty_.erase(job.id);
}

void PendingCommit::credited_ended(const JobRecord& job) { put(to_row(job, false)); }

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
    if (const JobRecord* job = find(id)) put(to_row(*job, fresh_.count(id) > 0));
  for (EventRow& row : events) batch_.events.push_back(std::move(row));
  if (batch_.empty()) return {trouble_.empty(), {}};
  crash_point();
  const auto stored = store_.commit(batch_);
  crash_point();
  if (stored) {
    trouble_.clear();
    batch_.clear();
    at_.clear();
    dirty_.clear();
    fresh_.clear();
    accepted_.clear();
    return {true, {}};
  }
  trouble_ = stored.error().what;
  next_try_ = now + kRetryDisk;
  Outcome out{false, std::exchange(accepted_, {})};
  const std::set<QueueId> gone(out.unaccepted.begin(), out.unaccepted.end());
  for (const QueueId id : gone) {
    fresh_.erase(id);
    dirty_.erase(id);
  }
  at_.clear();
  for (JobRow& row : std::exchange(batch_.jobs, {})) {
    if (gone.contains(QueueId(row.id))) continue;
    if (row.final)
      put(std::move(row));
    else
      dirty_.insert(QueueId(row.id));
  }
  std::erase_if(batch_.launches, [&](const LaunchRow& row) { return gone.contains(QueueId(row.id)); });
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
  const auto at = at_.find(number(id));
  if (at == at_.end()) return row;
  const JobRow& pending = batch_.jobs[at->second];
  std::string spec = pending.spec.empty() && row ? row->spec : pending.spec;
  row = pending;
  row->spec = std::move(spec);
  return row;
}

Result<std::optional<std::string>> PendingCommit::launch(std::uint64_t id) const {
  for (const LaunchRow& row : batch_.launches)  // empty but while the disk is full
    if (row.id == id) return std::optional(row.text);
  return store_.launch(id);
}

Result<Ok> PendingCommit::room_for(std::uint64_t more) const {
  std::uint64_t bytes = kRoomForStep + more + kPagesOfRow * (batch_.jobs.size() + dirty_.size());
  for (const LaunchRow& row : batch_.launches) bytes += row.text.size();
  for (const auto& [name, value] : batch_.values) bytes += value.size();
  return store_.room_for(bytes);
}

void PendingCommit::put(JobRow row) {
  const auto [at, first] = at_.try_emplace(row.id, batch_.jobs.size());
  if (first) {
    batch_.jobs.push_back(std::move(row));
    return;
  }
  JobRow& earlier = batch_.jobs[at->second];
  if (row.spec.empty()) row.spec = std::move(earlier.spec);
  earlier = std::move(row);
}

}  // namespace smartmig
