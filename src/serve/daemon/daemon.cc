#include "serve/daemon/daemon.h"

#include <algorithm>

#include "base/json.h"
#include "serve/attempts/clock_steps.h"

namespace smartmig {

void Daemon::run() {
  while (!requests_.stopping()) {
    step();
    if (requests_.stopping()) break;
    world_.clock.wait_until(next_due());
  }
  upkeep_.save(state_->estimates, visible_);
  commit();
  requests_.close();
}

void Daemon::step() {
  follow_clock();
  (void)attempts_.take_undone();
  gather();
  LiveJobs& book = state_->book;
  const bool waits = short_of_means();
  if (!decisions_.paused() && !waits && book.take_queue_changed()) visible_.update(state_->figures.started());
  if (reservations_.take_changed()) decisions_.decide_anyway();
  if (book.disk_trouble().empty() && !waits) decisions_.decide_all();
  if (book.disk_trouble().empty() && !waits && !decisions_.paused())
    prelaunches_.choose(*decisions_.policies().stack().policy);
  prelaunches_.give_up_held();
  decisions_.consult();
  upkeep_.save_when_due(state_->estimates, visible_);
  const bool stored = commit();
  if (stored) {
    attempts_.carry_out();
    suspensions_.carry_out();
    prelaunches_.carry_out();
    upkeep_.tell_of_ended();
    upkeep_.send_mail(transitions_.take_mail());
    upkeep_.map_jobs(state_->attempts, state_->boards);
  }
  const Error failed = io_error(
      "{}; the new jobs of this request were discarded; other changes are kept in memory and stored as soon as there is room",
      book.disk_trouble());
  requests_.answer(stored ? nullptr : &failed);
  if (stored) upkeep_.prune_when_due();
}

// The time of day was set: what has happened and all timers move with it, what people wait for does not.
void Daemon::follow_clock() {
  const Time by = world_.clock.take_step();
  if (by == Time{0}) return;
  state_->clock_stepped(by);
  jobs_.unfolding().clock_stepped(by);
  visible_.clock_stepped(by);
  attempts_.clock_stepped(by);
  prelaunches_.clock_stepped(by);
  idle_.clock_stepped(by);
  reports_.clock_stepped(by);
  decisions_.clock_stepped(by);
  upkeep_.clock_stepped(by);
  upkeep_.save(state_->estimates, visible_);
  state_->session.note("clock_stepped",
                       fmt::format("\"by_s\":{:.3f},\"words\":{}", seconds(by), json_text(step_words(by, false))));
  std::vector<QueueId> early;
  for (const auto& [id, job] : state_->book.live()) {
    if (job.status == JobStatus::kQueued && job.spec.begin && *job.spec.begin > now()) early.push_back(id);
    if (job.status == JobStatus::kRunning && job.spec.deadline) suspensions_.believe_again(job);
  }
  for (const QueueId id : early) {
    attempts_.drop_postponed(id);
    state_->session.withdraw(id);
    transitions_.check_dependencies(*state_->book.find(id));
  }
}

// What has happened since the last step goes into the records and is told to the fleet.
void Daemon::gather() {
  LiveSession& session = state_->session;
  if (session.compact_if_needed(std::size_t(state_->settings.limits.window) + suspensions_.to_tell())) {
    decisions_.rows_renumbered();
    state_->attempts.rows_renumbered(session.belief());
  }
  session.begin_step();
  reports_.believe_again();
  suspensions_.tell_belief();
  for (const JobRunner::Begun& one : world_.runner.begun())
    if (!prelaunches_.begun(one)) attempts_.begun(one);
  ends_.take_exits();
  reports_.take();
  reports_.lend_drained();
  for (const JobRecord& job : state_->book.take_settled()) state_->estimates.learn_joules(job);
  for (const auto& [job, joules] : state_->book.take_late_joules()) state_->quotas.more_joules(job, joules);
  visible_.count_quotas();
  for (const QueueId id : session.overdue()) {
    if (JobRecord* job = state_->book.find(id)) {
      ++job->counts.overruns;
      state_->book.changed(*job);
    }
    session.tell_overrun(id);  // of a slice out of service, too (slice_quarantine.h)
  }
  transitions_.go_on();
  transitions_.release_due();
  reservations_.begin_and_end_due();
  jobs_.unfold();
  requests_.carry_out([this] { return state_->book.room_for(); });
  reports_.sample_when_due();
  idle_.look_when_due();
}

bool Daemon::commit() {
  LiveSession& session = state_->session;
  if (auto use = state_->quotas.changed_text()) state_->book.pending().set_value("quota", std::move(*use));
  const bool stored = state_->book.commit(
      session.journal().take(), [this] { return state_->boards.meter().state(); }, now(),
      [&](QueueId unaccepted) {
        attempts_.forget(unaccepted);
        jobs_.unaccepted(*state_->book.find(unaccepted));
        session.withdraw(unaccepted);
      });
  if (stored) {
    jobs_.unfolding().accepted();
    requests_.stored(session.journal().position());
  }
  return stored;
}

UnixTime Daemon::next_due() const {
  if (suspensions_.to_tell() > 0 || attempts_.undone() || reports_.to_believe()) return now();
  if (!jobs_.unfolding().empty() && state_->book.disk_trouble().empty()) return now();
  return std::min({reports_.next_sample(), upkeep_.next_due(), decisions_.next_tick(), world_.runner.next_due(),
                   state_->session.next_due(), state_->book.next_try(), transitions_.next_due(),
                   reservations_.next_due(), prelaunches_.next_due(), idle_.next_due(),
                   short_of_means() ? attempts_.next_try() : kNeverUnix});
}

// Starts failed for want of something: nothing is decided until they may be tried again.
bool Daemon::short_of_means() const { return !attempts_.shortage().empty() && now() < attempts_.next_try(); }

// What failed before the fleet's last wish is of no interest any more.
std::string Daemon::failing_words(GpuId gpu) const {
  const Failing& failing = state_->boards.at(int(index(gpu))).failing;
  const GpuState& believed = cluster().gpu(gpu);
  if (const std::string& words = state_->boards.at(int(index(gpu))).reread; !words.empty()) return words;
  if (failing.times == 0 || believed.layout == believed.target) return {};
  return fmt::format("{} failed {}: {}; smartmig tries again in {:.0f} s", failing.what,
                     failing.times == 1 ? "once" : fmt::format("{} times", failing.times), failing.error,
                     seconds(std::max(Time{0}, failing.next_try - now())));
}

void Daemon::pause(bool on) {
  decisions_.pause(on);
  state_->book.pending().set_value("paused", on ? "1" : "0");
  state_->book.queue_changed();
}

}  // namespace smartmig
