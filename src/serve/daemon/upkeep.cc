#include "serve/daemon/upkeep.h"

#include <algorithm>

#include "base/json.h"
#include "base/moved.h"
#include "base/text.h"
#include "queue/jobs/job_json.h"
#include "serve/attempts/clock_steps.h"

namespace smartmig {
namespace {

constexpr int kLogsAtOnce = 10'000;  // jobs whose logs one prune removes

}  // namespace

Upkeep::Upkeep(const Settings& settings, LiveSession& session, LiveJobs& book, Store& store, JobRunner& runner)
    : settings_(settings),
      session_(session),
      book_(book),
      store_(store),
      runner_(runner),
      next_save_(session.now() + std::chrono::seconds(60)),
      next_prune_(session.now() + std::chrono::minutes(1)) {}

Result<Ok> Upkeep::open_mapping() {
  std::optional<JobMapping> mapping;
  if (!settings_.places.mapping_dir.empty()) {
    SMARTMIG_TRY(mapping, JobMapping::open(settings_.places.mapping_dir));
  }
  mapping_ = std::move(mapping);
  return Ok{};
}

void Upkeep::save_when_due(Estimates& estimates, const VisibleJobs& visible) {
  if (session_.now() >= next_save_) save(estimates, visible);
}

void Upkeep::save(Estimates& estimates, const VisibleJobs& visible) {
  next_save_ = session_.now() + std::chrono::seconds(60);
  if (estimates.take_changed()) {
    book_.pending().set_value("history", estimates.to_json());
    book_.pending().set_value("times", estimates.times_json());
  }
  if (estimates.take_scores_changed()) book_.pending().set_value("calibration", estimates.calibration().to_json());
  book_.pending().set_value("accounts", visible.accounts());
  if (std::string reading = clock_reading(session_.clock()); !reading.empty())
    book_.pending().set_value("clock", std::move(reading));
  book_.pending().write_energy();
}

void Upkeep::clock_stepped(Time by) {
  next_save_ = moved(next_save_, by);
  next_prune_ = moved(next_prune_, by);
  time_is_doubtful();
}

// A wrong year would take all history with it.
void Upkeep::time_is_doubtful() { next_prune_ = std::max(next_prune_, session_.now() + days(1)); }

void Upkeep::tell_of_ended() {
  for (const JobRecord& job : book_.take_ended()) {
    if (settings_.hooks.on_finish.empty()) continue;
    JobShown shown;
    shown.now = session_.now();
    hooks_.run(settings_.hooks.on_finish, json_dump(to_json(job, shown)));
  }
}

void Upkeep::send_mail(const std::vector<JobTransitions::Mail>& mail) {
  if (settings_.hooks.mail.empty()) return;
  for (const auto& [event, job] : mail) {
    JobShown shown;
    shown.now = session_.now();
    hooks_.run(settings_.hooks.mail,
               json_dump(Json{{"event", name_of(event)},
                              {"mail_user", job.spec.mail_user.empty() ? job.owner.name : job.spec.mail_user},
                              {"job", to_json(job, shown)}}));
  }
}

void Upkeep::map_jobs(const AttemptTable& table, const Boards& boards) {
  if (!mapping_) return;
  std::map<JobMapping::Slice, std::uint64_t> jobs;
  for (const auto& [slice, id] : table.slices())
    if (const Instance* instance = find_instance(boards.at(int(slice.first)).board, PlacementId(slice.second)))
      jobs[{int(slice.first), instance->gpu_instance}] = number(id);
  if (const auto written = mapping_->set(jobs); !written && written.error().what != mapping_trouble_) {
    mapping_trouble_ = written.error().what;
    session_.note("mapping", "\"words\":" + json_text(mapping_trouble_));
  }
}

void Upkeep::set_last_without_log(const std::string& text) {
  const auto at = parse_int(text.substr(0, text.find(':'))), job = parse_int(text.substr(text.find(':') + 1));
  if (at && job) last_without_log_ = {*at, std::uint64_t(*job)};
}

void Upkeep::prune_when_due() {
  if (session_.now() < next_prune_) return;
  next_prune_ = session_.now() + std::chrono::minutes(10);
  const auto before = [this](std::int64_t keep_days) { return unix_us(session_.now() - days(keep_days)); };
  const auto gone = store_.prune({before(settings_.journal.keep_days), before(settings_.jobs.keep_days),
                                  settings_.journal.max_events, settings_.jobs.max});
  if (!gone) return;
  for (const std::uint64_t id : *gone) runner_.forget(id);
  // Jobs whose logs go before they do.
  const auto ended = store_.ended(last_without_log_, before(settings_.logs.keep_days), kLogsAtOnce);
  if (!ended || ended->empty()) return;
  for (const JobEnd& end : *ended)
    if (!book_.find(QueueId(end.job))) runner_.forget(end.job);
  last_without_log_ = ended->back();
  book_.pending().set_value("last_without_log", fmt::format("{}:{}", last_without_log_.at_us, last_without_log_.job));
}

}  // namespace smartmig
