#include "queue/belief/belief.h"

#include <algorithm>
#include <cmath>

#include "queue/jobs/gpu_reservations.h"
#include "sim/kind_curve.h"

namespace smartmig {
namespace {

constexpr double kUnknownExponent = 0.5;

const GpuModel& reference_of(const Platform& platform) { return *platform.models()[0].gpu; }

bool measured_on(const std::string& kind, const std::string& gpu) {
  const auto& rows = SpeedTable::builtin().rows();
  return !kind.empty() && std::any_of(rows.begin(), rows.end(), [&](const SpeedTable::Row& row) {
    return row.kind == kind && row.gpu == gpu && row.throughput > 0;
  });
}

std::shared_ptr<JobTable> fresh_table(const Platform& platform, std::size_t capacity) {
  auto table = JobTable::growing(platform, reference_of(platform).name(), capacity, true);
  SMARTMIG_CHECK(bool(table), "no job table for {}: {}", platform.spec(), table ? "" : table.error().what);
  return std::make_shared<JobTable>(std::move(*table));
}

// Where slices overlap each may use the SMs of a larger one, and takes that one's time.
void share_board(Job& job, const BoardSharing& sharing, int of) {
  const auto alone = job.work;
  for (int k = 1; k <= of; ++k) {
    if (alone[std::size_t(k - 1)] == kCannotRun) continue;
    for (int larger = of; larger > k; --larger) {
      const Time there = alone[std::size_t(larger - 1)];
      if (there == kCannotRun || double(larger) / of > sharing.share(k, of)) continue;
      job.work[std::size_t(k - 1)] = there;
      break;
    }
  }
}

// Before a job makes progress where it goes on from what it saved.
Time resume_time(const JobRecord& record) {
  const bool saved = record.spec.checkpoint_signal != 0 && record.work.remaining < 1;
  return saved ? restart_time(record.spec) : Time{0};
}

}  // namespace

Time restart_time(const JobSpec& spec) {
  if (spec.restart) return *spec.restart;
  const Time known = spec.kind.empty() ? Time{-1} : restart_of(spec.kind);
  return known < Time{0} ? kUnknownRestart : known;
}

Belief::Belief(std::shared_ptr<const Platform> platform, UnixTime origin, std::size_t capacity)
    : platform_(std::move(platform)),
      table_(fresh_table(*platform_, capacity)),
      origin_(origin),
      capacity_(capacity),
      rows_(capacity) {}

Job Belief::job_of(const JobRecord& record, UnixTime presented_deadline, bool made_up) const {
  const GpuModel& reference = reference_of(*platform_);
  Job job;
  job.submit = inside(record.times.submitted);
  job.deadline = inside(presented_deadline);
  job.deadline_made_up = made_up;
  job.undeclared = !record.spec.deadline;
  job.patient = record.spec.patient.value_or(false);
  job.mem_mib = record.memory.mib;
  job.idle = is_phantom(record.id);
  job.spread = job.idle ? 0 : record.work.spread;
  if (!record.spec.deadline) job.teaches = record.work.teaches;
  job.reservation = reservation_tag(record.spec.reservation);
  const int of = reference.compute_slices();
  if (sharing_.crowds()) job.crowding = {record.work.log_slowdown, sharing_.others(1, of)};
  // A time that was told for the whole GPU is that of a job alone on it; the others are as beside a full board.
  const double told = record.work.source == EstimateSource::kGiven ? 1 / job.crowding.factor(0) : 1;
  const double whole_s = seconds(record.work.estimate) * record.work.remaining * told;
  const std::string& kind = record.spec.kind;
  const int whole = std::min(of, kMaxComputeSlices);
  if (measured_on(kind, reference.tables())) {
    const KindCurve curve = curve_of(kind, reference.tables());
    curve.set_work(job, curve.largest, whole_s);
    share_board(job, sharing_, whole);
    for (std::size_t k = 0; k < job.work.size() && record.work.shape[0] > 0; ++k)
      if (job.work[k] != kCannotRun) job.work[k] = from_seconds(whole_s * record.work.shape[k]);
  } else if (record.work.shape[0] > 0) {
    for (int k = 1; k <= whole; ++k)
      job.work[std::size_t(k - 1)] = from_seconds(whole_s * record.work.shape[std::size_t(k - 1)]);
  } else {
    for (int k = 1; k <= whole; ++k)
      job.work[std::size_t(k - 1)] = from_seconds(whole_s * std::pow(1 / sharing_.share(k, of), kUnknownExponent));
  }
  for (Time& time : job.work)
    if (time >= Time{0}) time += resume_time(record);
  const AskedSize size = allowed_size(record, *platform_, size_rules_, user_slices_);
  for (int k = 1; k <= kMaxComputeSlices; ++k)
    if (!size.takes(k)) job.work[std::size_t(k - 1)] = kCannotRun;
  // One that starts from the beginning would lose all it has done: only those that save their progress are stopped.
  if (record.spec.checkpoint_signal != 0 && !record.spec.once && record.counts.preempted < kMostPreemptions &&
      !record.suspended)
    job.restart = restart_time(record.spec);
  // A job that no size keeps within the caps is left as it is: it waits, and `why` says so.
  if (!caps_.none()) limit_sizes(job, kind, *platform_, caps_);
  return job;
}

Result<JobId> Belief::put(const JobRecord& record, UnixTime presented_deadline, bool made_up) {
  SMARTMIG_CHECK(used_ < table_->size(), "the belief has no row left");
  const JobId id{std::uint32_t(used_)};
  SMARTMIG_RETURN_IF_ERROR(table_->put(id, job_of(record, presented_deadline, made_up), label(record),
                                       SpeedTable::builtin().has(record.spec.kind) ? record.spec.kind : "",
                                       *platform_));
  rows_[used_++] = {record.id, record.work.remaining, resume_time(record)};
  row_of_[record.id] = id;
  return id;
}

Result<Ok> Belief::fits(const JobRecord& record) const {
  SMARTMIG_TRY(JobTable table, JobTable::growing(*platform_, reference_of(*platform_).name(), 1, true));
  // Before it is accepted it has no number, only its name.
  return table.put(JobId{0}, job_of(record, kNeverUnix), record.id == QueueId{} ? title(record) : label(record),
                   SpeedTable::builtin().has(record.spec.kind) ? record.spec.kind : "", *platform_);
}

Time Belief::time_on(const JobRecord& record, int compute_slices) const {
  if (compute_slices < 1 || compute_slices > kMaxComputeSlices) return kCannotRun;
  return job_of(record, kNeverUnix).work_on(compute_slices);
}

double Belief::share_left(JobId row, Time left, Time whole) const {
  const Row& of = rows_[index(row)];
  const Time work = whole - of.resume;
  if (work <= Time{0}) return of.share;
  return of.share * std::clamp(double(left.count()) / double(work.count()), 0.0, 1.0);
}

int Belief::largest_memory_mib(const JobSpec& spec) const { return smartmig::largest_memory_mib(spec, *platform_); }

void Belief::drop(QueueId record) { row_of_.erase(record); }

JobId Belief::row(QueueId record) const {
  const auto at = row_of_.find(record);
  return at == row_of_.end() ? kNoJob : at->second;
}

Cluster Belief::compacted(const Cluster& cluster) {
  const auto table = fresh_table(*platform_, capacity_);
  std::vector<JobId> keep;
  std::vector<Row> kept(capacity_);
  std::map<QueueId, JobId> rows;
  for (JobId old = cluster.first_unfinished(); old != kNoJob; old = cluster.next_unfinished(old)) {
    const JobId id{std::uint32_t(keep.size())};
    const Job& job = table_->job(old);
    const auto put =
        table->put(id, job, table_->workload().name_of(index(old)), table_->workload().kind_of(job), *platform_);
    SMARTMIG_CHECK(bool(put), "a row of the belief fits no more");
    kept[keep.size()] = rows_[index(old)];
    rows[rows_[index(old)].record] = id;
    keep.push_back(old);
  }
  used_ = keep.size();
  table_ = table;
  rows_ = std::move(kept);
  row_of_ = std::move(rows);
  return cluster.renumbered(table_, keep);
}

}  // namespace smartmig
