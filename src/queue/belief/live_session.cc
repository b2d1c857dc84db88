#include "queue/belief/live_session.h"

#include <algorithm>

namespace smartmig {

LiveSession::LiveSession(LiveClock& clock, std::shared_ptr<const Platform> platform, UnixTime origin,
                         std::size_t window, const std::vector<Layout>& layouts, const LiveRun& run,
                         std::uint64_t last_event)
    : clock_(clock),
      platform_(std::move(platform)),
      belief_(platform_, origin, 4 * (window + std::size_t(platform_->total_compute_slices()) + 64)),
      journal_(std::make_unique<LiveJournal>(platform_, origin, last_event)) {
  Cluster cluster(platform_, belief_.table(), cost_, layouts, inside_now());
  journal_->set_table(belief_.table(), {});
  RunRecord record;
  record.platform = platform_;
  record.jobs = belief_.table();
  record.cost = cost_;
  record.initial = layouts;
  record.version = run.version;
  record.config = {{"policy", run.policy},
                   {"world", run.world},
                   {"began_at", fmt::format("{:.6f}", unix_seconds(origin + cluster.now()))}};
  record.summary.a = run.a;
  record.summary.days = 1;
  journal_->begin_run(record, cluster.now());
  fleet_ = std::make_unique<LiveFleet>(cluster);
  session_ = std::make_unique<Session>(*fleet_, std::move(cluster), journal_.get());
}

void LiveSession::clock_stepped(Time by) {
  belief_.clock_stepped(by);
  journal_->clock_stepped(by);
}

Result<Ok> LiveSession::show(const JobRecord& job, UnixTime presented_deadline, UnixTime arrived, bool made_up) {
  SMARTMIG_TRY(const JobId row, belief_.put(job, presented_deadline, made_up));
  tell(Event::submitted(std::min(belief_.inside(arrived), inside_now()), row));  // else all jumps to that instant
  return Ok{};
}

Result<Ok> LiveSession::found_running(const JobRecord& job, GpuId gpu, PlacementId where, UnixTime last,
                                      double others) {
  SMARTMIG_TRY(const JobId row, belief_.put(job, job.spec.deadline.value_or(kNeverUnix)));
  const Time whole = belief_.table()->work(row, platform_->type_of(gpu, where)), ran = last - job.times.started;
  const Crowding& crowding = belief_.table()->job(row).crowding;
  const Time done = crowding.log_slowdown == 0 ? ran : rounded(double(ran.count()) / crowding.factor(others));
  const bool longer = belief_.table()->job(row).spread > 0 && done > whole;  // than was believed
  found(row, gpu, where, longer ? whole - done : std::max(Time{1'000'000}, whole - done));
  return Ok{};
}

Result<Ok> LiveSession::found_with(const JobRecord& job, GpuId gpu, PlacementId where, Time left) {
  SMARTMIG_TRY(const JobId row, belief_.put(job, job.spec.deadline.value_or(kNeverUnix)));
  found(row, gpu, where, left);
  return Ok{};
}

void LiveSession::revise(const JobRecord& job, GpuId gpu, PlacementId where, Time left) {
  const JobId old = belief_.row(job.id);
  if (old == kNoJob || cluster().state(old).phase != JobPhase::kRunning) return;
  const auto row = belief_.put(job, job.spec.deadline.value_or(kNeverUnix));
  if (!row) return;  // the fleet has changed: it goes on as it was believed
  session_->apply(Event::withdrawn(cluster().now(), old));
  found(*row, gpu, where, left);
}

void LiveSession::found(JobId row, GpuId gpu, PlacementId where, Time left) {
  session_->apply(Event::submitted(cluster().now(), row));
  session_->apply(Event::found_running(cluster().now(), row, gpu, where, left));
}

void LiveSession::leave(QueueId id, UnixTime when, bool completed) {
  const JobId row = belief_.row(id);
  if (row == kNoJob) return;
  tell(completed ? Event::finished(belief_.inside(when), row) : Event::withdrawn(belief_.inside(when), row));
  belief_.drop(id);
}

void LiveSession::take_back(QueueId id) {
  const JobId row = belief_.row(id);
  if (row == kNoJob) return;
  fleet_->forget(row);
  const JobPhase phase = cluster().state(row).phase;
  if (phase == JobPhase::kQueued || phase == JobPhase::kRunning)
    session_->apply(Event::withdrawn(cluster().now(), row));
  belief_.drop(id);
}

void LiveSession::block(int gpu) {
  const GpuId id{std::uint32_t(gpu)};
  if (!cluster().gpu(id).blocked) session_->apply(Event::blocked(cluster().now(), id));
}

bool LiveSession::believe(int gpu, Layout shown) {
  const GpuId id{std::uint32_t(gpu)};
  const GpuState& believed = cluster().gpu(id);
  const Layout gone = believed.layout - shown;
  if (fleet_->has_news() || fleet_->operating(id) || !(gone & believed.busy).empty()) return false;
  if (believed.layout == shown) return true;
  if (!gone.empty()) session_->apply(Event::destroyed(cluster().now(), id, gone));
  if (const Layout more = shown - cluster().gpu(id).layout; !more.empty())
    session_->apply(Event::created(cluster().now(), id, more));
  fleet_->look_again(id);
  return true;
}

bool LiveSession::waits(QueueId id) const {
  const JobId row = belief_.row(id);
  return row != kNoJob && cluster().state(row).phase == JobPhase::kQueued;
}

int LiveSession::stops(QueueId id) const {
  const JobId row = belief_.row(id);
  return row == kNoJob ? 0 : int(cluster().state(row).stops);
}

std::optional<UnixTime> LiveSession::expected_finish(QueueId id) const {
  const JobId row = belief_.row(id);
  if (row == kNoJob || cluster().state(row).phase != JobPhase::kRunning) return std::nullopt;
  return belief_.outside(cluster().state(row).finish);
}

Time LiveSession::time_to_finish(QueueId id) const {
  const JobId row = belief_.row(id);
  if (row == kNoJob || cluster().state(row).phase != JobPhase::kRunning) return Time{0};
  return cluster().time_to_finish(row);
}

double LiveSession::share_left(const JobRecord& job) const {
  const JobId row = belief_.row(job.id);
  if (row == kNoJob) return job.work.remaining;
  const JobState& state = cluster().state(row);
  if (state.type == kNoType) return job.work.remaining;
  const Time whole = belief_.table()->work(row, state.type), left = cluster().remaining_on(row, state.type);
  return belief_.share_left(row, left, whole);
}

std::vector<QueueId> LiveSession::overdue() const {
  std::vector<QueueId> out;
  for (const GpuState& gpu : cluster().gpus())
    for (const PlacementId p : gpu.busy) {
      const JobId row = gpu.job_at[index(p)];
      if (cluster().state(row).finish + kOverrunGrace > inside_now()) continue;
      const QueueId id = belief_.record(row);
      if (belief_.row(id) == row) out.push_back(id);  // else its end is being told
    }
  return out;
}

UnixTime LiveSession::next_due() const {
  UnixTime due = belief_.outside(fleet_->next_retry());
  for (const GpuState& gpu : cluster().gpus())
    for (const PlacementId p : gpu.busy)
      due = std::min(due, belief_.outside(cluster().state(gpu.job_at[index(p)]).finish) + kOverrunGrace);
  return due;
}

// While the fleet has something left to tell, events speak of old rows.
bool LiveSession::compact_if_needed(std::size_t window) {
  if (belief_.free_rows() >= window + 64 || fleet_->has_news()) return false;
  std::vector<std::size_t> numbers;
  const Cluster& old = cluster();
  for (JobId job = old.first_unfinished(); job != kNoJob; job = old.next_unfinished(job))
    numbers.push_back(journal_->numbers()[index(job)]);
  session_->replace(belief_.compacted(old));
  journal_->set_table(belief_.table(), std::move(numbers));
  return true;
}

}  // namespace smartmig
