#include "serve/daemon/damaged_rows.h"

#include "base/json.h"
#include "base/users.h"
#include "queue/jobs/job_json.h"
#include "serve/daemon/job_requests.h"

namespace smartmig {

void note_damaged(DaemonState& state, DamagedRow row) {
  state.session.note(
      "damaged",
      fmt::format("\"what\":{},\"words\":{}", json_text(row.what),
                  json_text(row.why + ": it is kept in the store's table damaged; all other jobs continue")));
  state.book.pending().put_aside(std::move(row));
}

void end_damaged(DaemonState& state) {
  for (const auto& [row, why] : state.damaged_jobs) {
    note_damaged(state, {fmt::format("job {}", row.id), why,
                         json_dump(Json{{"uid", row.uid},
                                        {"status", row.status},
                                        {"submitted_us", row.submitted_us},
                                        {"ended_us", row.ended_us},
                                        {"spec", row.spec},
                                        {"launch", row.launch},
                                        {"state", row.state}})});
    if (state.book.find(QueueId(row.id))) continue;
    JobRecord job;
    job.id = QueueId(row.id);
    job.owner.uid = row.uid;
    job.owner.name = user_name(row.uid);
    job.times.submitted = from_unix_us(std::max<std::int64_t>(0, row.submitted_us));
    job.times.ended = state.session.now();
    if (auto spec = parse_job_spec(row.spec, job.times.submitted))
      job.spec = std::move(*spec);
    else
      job.spec.command = {"unknown"};
    job.launch.id = row.launch;
    job.launch.bytes = row.launch_bytes;
    job.spec.dependencies.clear();
    job.reason = "its row in the store was damaged; submit it again";
    job.status.found(JobStatus::kFailed);
    JobRecord& taken = state.book.take_over(std::move(job));
    ++state.figures.counts.ended[int(JobStatus::kFailed)];
    state.book.end(taken);
  }
}

}  // namespace smartmig
