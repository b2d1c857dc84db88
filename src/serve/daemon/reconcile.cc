#include "serve/daemon/reconcile.h"

#include <signal.h>

#include <set>

#include "base/json.h"
#include "base/text.h"
#include "base/users.h"
#include "queue/jobs/job_json.h"
#include "serve/daemon/job_requests.h"

namespace smartmig {
namespace {

void put_where_it_runs(JobRecord& job, const std::string& device, const DaemonState& state) {
  leave_slice(job);
  for (std::size_t gpu = 0; gpu < state.boards.size(); ++gpu)
    for (const Instance& instance : state.boards.at(int(gpu)).board.instances)
      if (!device.empty() && instance.uuid == device) {
        job.place.gpu = int(gpu);
        job.place.slice = slice_of(*state.session.platform().model(GpuId(gpu)).gpu, instance.placement);
        job.place.device = device;
      }
}

// One that has ended is on no slice: by now another may be there. `granted`: when it got its slice, if it began before.
void give_attempt(JobRecord& job, const JobRunner::Left& left, bool runs, std::optional<UnixTime> granted,
                  const DaemonState& state) {
  job.attempt = left.id.attempt;
  job.status.found(JobStatus::kRunning);
  job.stop_reason = StopReason::kNone;
  job.times.started = granted.value_or(kNotYet);
  job.times.ended = kNotYet;
  const UnixTime now = state.session.now();
  job.prelaunch.began = left.origin && left.origin->held ? std::min(now, granted.value_or(now)) : kNotYet;
  job.exit.code = -1;
  job.exit.signal = 0;
  job.reason = "taken over: its attempt is newer than the restored queue";
  put_where_it_runs(job, runs && left.origin ? left.origin->device : "", state);
}

// It began before it had a slice, and was given none: it waits, and so do its processes.
bool held_only(const JobRunner& runner, const JobRunner::Left& left) {
  return left.origin && left.origin->held && !runner.granted(left.id);
}

// Of a damaged record, if it still tells.
std::string device_in(const std::string& record) {
  const auto json = parse_json("stored record", record);
  if (!json || !json->is_object()) return {};
  const auto at = json->find("device");
  return at != json->end() && at->is_string() ? at->get<std::string>() : std::string();
}

JobRecord unknown_job(const JobRunner::Left& left, const JobRow* damaged, DaemonState& state) {
  JobRecord job;
  job.id = QueueId(left.id.job);
  if (left.origin) {
    job.owner.uid = left.origin->uid;
    job.owner.gid = left.origin->gid;
    job.owner.name = left.origin->user;
    job.spec = left.origin->spec;
    if (const ArrayTask& task = left.origin->task; task.array != 0) {
      job.array.id = QueueId(task.array);
      job.array.index = task.index;
      job.array.count = task.count;
      job.array.first = task.first;
      job.array.last = task.last;
      job.array.step = task.step;
    }
  } else {
    job.owner.uid = damaged->uid;
    job.owner.name = user_name(damaged->uid);
    job.spec.command = {"unknown"};
    job.spec.directory = "/";
  }
  job.spec.dependencies.clear();
  if (!job.spec.script.empty()) job.launch.script = hash_text(job.spec.script);
  job.times.submitted = state.session.now();
  job.memory.mib = job.spec.mem_mib.value_or(-1);
  state.estimates.estimate(job);
  return job;
}

// The job's record, live or ended. Nothing: nobody knows it.
Result<std::optional<JobRecord>> known_record(QueueId id, const DaemonState& state) {
  if (const JobRecord* live = state.book.find(id)) return std::optional(*live);
  SMARTMIG_TRY(const auto row, state.book.stored(id));
  if (!row) return std::optional<JobRecord>();
  auto ended = from_row(*row);
  if (!ended) return std::optional<JobRecord>();  // damaged: what its attempt wrote down is better
  return std::optional(std::move(*ended));
}

}  // namespace

Result<Ok> reconcile(JobRunner& runner, DaemonState& state, std::uint64_t last_stored, bool restored) {
  const auto say = [&](AttemptId id, std::string_view words) {
    state.session.note("reconciled",
                       fmt::format("\"job\":{},\"attempt\":{},\"words\":{}", id.job, id.attempt, json_text(words)));
  };
  std::map<std::uint64_t, const JobRow*> damaged_rows;
  for (const LiveJobs::Damaged& one : state.damaged_jobs) damaged_rows[one.row.id] = &one.row;
  const std::vector<AttemptId> here = runner.found_alive();
  const std::set<AttemptId> alive(here.begin(), here.end());
  const auto wanted = [&](std::uint64_t job) {
    const auto first = alive.lower_bound({job, 0});
    return restored || job > last_stored || damaged_rows.contains(job) || state.book.find(QueueId(job)) ||
           (first != alive.end() && first->job == job);
  };
  const auto end_at_once = [&](AttemptId id) {
    if (const auto found = runner.recover({id}); !found || found->running.empty())
      return;  // which ends what is left of it
    (void)runner.stop(id, SIGKILL, Time{0});
    say(id, "ended: a later attempt of its job has begun");
  };
  // The records may have it where it was to go; it is where it was started.
  const auto where_it_is = [&](QueueId id, const AttemptOrigin& origin) {
    JobRecord* job = state.book.find(id);
    if (!job || origin.device.empty() || job->place.device == origin.device) return;
    put_where_it_runs(*job, origin.device, state);
    state.book.changed(*job);
    say(attempt_of(*job), "found on a different slice than the records say");
  };
  for (const JobRunner::Left& left : runner.left(wanted)) {
    const QueueId id = QueueId(left.id.job);
    for (const AttemptId& earlier : alive)
      if (earlier.job == left.id.job && earlier.attempt < left.id.attempt) end_at_once(earlier);
    SMARTMIG_TRY(auto known, known_record(id, state));
    const bool was_held = known && known->attempt == left.id.attempt && is_waiting(known->status) &&
                          known->prelaunch.began != kNotYet && runner.granted(left.id);
    const bool ended_alive = known && is_final(known->status) && alive.count(left.id) > 0;
    if (known && known->attempt >= left.id.attempt && !was_held && !ended_alive) {
      if (alive.count(left.id) > 0 && left.origin && known->attempt == left.id.attempt) where_it_is(id, *left.origin);
      continue;
    }
    SMARTMIG_TRY(const JobRunner::Found found, runner.recover({left.id}));
    const bool runs = !found.running.empty();
    if (!runs && found.ended.empty()) continue;  // it never began
    if (ended_alive && known->attempt >= left.id.attempt && (!runs || held_only(runner, left))) {
      if (runs) (void)runner.stop(left.id, SIGKILL, Time{0});
      say(left.id, "its end is recorded, so its remaining processes were ended");
      continue;
    }
    const auto at = damaged_rows.find(left.id.job);
    const JobRow* const damaged = at == damaged_rows.end() ? nullptr : at->second;
    if (runs && !left.origin && !damaged) {
      (void)runner.stop(left.id, SIGKILL, Time{0});
      say(left.id, "ended: it ran, but its slice is unknown");
    }
    if (!known && !left.origin && !damaged) continue;
    JobRecord* job = state.book.find(id);
    if (!job && known) job = &state.book.bring_back(std::move(*known), state.session.now());
    if (!job) job = &state.book.take_over(unknown_job(left, damaged, state));
    give_attempt(*job, left, runs, runner.granted(left.id), state);
    if (damaged) {
      job->reason = "taken over from its launch record, because its row in the store was damaged";
      if (runs && job->place.gpu < 0) put_where_it_runs(*job, device_in(damaged->state), state);
    }
    if (held_only(runner, left)) job->status.found(JobStatus::kQueued);
    state.book.changed(*job);
    say(left.id, runs ? "taken over: it runs, and its attempt is newer than the restored queue"
                      : "finished: it ended after the restored queue was saved");
  }
  if (restored) state.book.pending().set_value("restored", "");
  return Ok{};
}

}  // namespace smartmig
