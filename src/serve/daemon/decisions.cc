#include "serve/daemon/decisions.h"

#include <algorithm>
#include <chrono>

#include "base/json.h"
#include "queue/belief/live_fork.h"

namespace smartmig {
namespace {

constexpr Time kAfterVainStop{1'000'000};

// What has a share of the host: not those that this plan or an earlier one stopped, since the next on their slice is
// started when they have left it.
std::vector<AttemptTable::Running> sharing(const LiveSession& session, const LiveJobs& book, const AttemptTable& table,
                                           const Plan& plan) {
  auto running = table.running(book, session.platform());
  std::erase_if(running, [&](const AttemptTable::Running& one) {
    const JobId row = session.belief().row(one.job->id);
    return session.waits(one.job->id) || std::find(plan.stops.begin(), plan.stops.end(), row) != plan.stops.end();
  });
  return running;
}

}  // namespace

Decisions::Decisions(const Settings& settings, const DaemonPace& pace, LiveClock& clock, LiveSession& session,
                     LiveJobs& book, AttemptTable& table, HostShares& shares, Attempts& attempts, Figures& figures,
                     const GpuReservations& reservations)
    : settings_(settings),
      pace_(pace),
      session_(session),
      book_(book),
      attempts_(attempts),
      figures_(figures),
      policies_(settings, session.shared_platform(), session.cost(),
                StartGate{[&session, &book, &shares, &table](const Plan& plan) {
                            shares.count(sharing(session, book, table, plan));
                          },
                          [&session, &book, &shares](const Cluster&, const Start& start) {
                            const JobRecord* job = book.find(session.belief().record(start.job));
                            if (!job) return StartObjection::kJobEnded;
                            const Platform::Model& model = session.platform().model(start.gpu);
                            const int slices = model.slices_of_placement[index(start.where)];
                            return shares.check(*job, std::min(slices, asked_slices(*job, session.platform())),
                                                model.room_of(start.where));
                          }},
                reservations.windows()),
      advice_(settings, policies_, clock, pace.advice),
      loop_(
          session.session(), [this](const Cluster& cluster, Plan& plan) { decide(cluster, plan); },
          [this] { attempts_.prepare(session_.fleet().take_effects()); }) {}

Result<Ok> Decisions::make_policies() {
  SMARTMIG_RETURN_IF_ERROR(policies_.make());
  advice_.set_shadow(policies_.take_shadow());
  session_.belief().set_caps(policies_.caps());
  session_.belief().set_user_slices(settings_.limits.user_slices);
  session_.belief().set_size_rules(size_rules(settings_));
  shapes_due_ = anyway_ = policies_.stack().row().fixed_shapes;
  return Ok{};
}

void Decisions::pause(bool on) {
  paused_ = on;
  if (!on) anyway_ = true;
}

void Decisions::tick_again() {
  anyway_ = false;
  next_tick_ = pace_.tick == kNever ? kNeverUnix : session_.now() + pace_.tick;
}

void Decisions::decide_all() {
  LiveFleet& fleet = session_.fleet();
  const auto gather = [&] { return fleet.withdrawals() || (!pace_.decide_each_arrival && fleet.arrival_next()); };
  if (session_.now() >= next_tick_) anyway_ = true;
  loop_.decide_about_news(gather, worth_deciding);
  // Time alone is no reason to decide about a fleet without jobs; shapes that it is to have are one.
  if (anyway_ && (paused_ || (session_.cluster().unfinished() == 0 && !shapes_due_))) tick_again();
  if (anyway_) {
    session_.session().look_again(session_.inside_now());
    loop_.decide();
    loop_.decide_about_news(gather, worth_deciding);
  }
  attempts_.prepare(fleet.take_effects());
  figures_.counts.refused = session_.session().refused();
  figures_.counts.fallbacks = policies_.fallbacks();
}

void Decisions::decide(const Cluster& cluster, Plan& plan) {
  tick_again();
  session_.asked_at(kNever);
  if (paused_) return;
  const StartFilter* gate = policies_.stack().filter();
  const std::uint64_t held_back = gate ? gate->held_back() : 0;
  const auto began = std::chrono::steady_clock::now();
  policies_.decide(cluster, plan);
  figures_.decided(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  shapes_due_ = false;
  session_.asked_at(plan.look_again);
  next_tick_ = std::min(next_tick_, session_.belief().outside(plan.look_again));
  // Jobs may have been stopped for one that the gate held back: no event tells when something else may start there.
  if (gate && !plan.stops.empty() && gate->held_back() > held_back)
    next_tick_ = std::min(next_tick_, session_.now() + kAfterVainStop);
  note_shadow(cluster, plan);
  store_counts();
}

// Whom others have passed is known to the next daemon, too.
void Decisions::store_counts() {
  const BoundedOvertaking* overtaking = policies_.stack().overtaking();
  std::string counts = overtaking ? overtaking->counts_text() : std::string();
  if (counts == stored_counts_) return;
  stored_counts_ = std::move(counts);
  book_.pending().set_value("overtaking", stored_counts_);
}

void Decisions::note_shadow(const Cluster& cluster, const Plan& plan) {
  const Plan* other = advice_.shadow_differs(cluster, plan);
  figures_.counts.shadow_differences = advice_.differences();
  if (!other) return;
  nlohmann::json would = nlohmann::json::array();
  for (const Start& s : other->starts)
    would.push_back(fmt::format("{} on {}:{}", session_.belief().record(s.job), index(s.gpu),
                                slice_name(*session_.platform().model(s.gpu).gpu, s.where)));
  session_.note("shadow",
                fmt::format("\"policy\":{},\"would_start\":{}", json_text(settings_.policy.shadow), json_dump(would)));
}

void Decisions::consult() {
  const auto notes = advice_.consult(
      session_.now(), session_.cluster().unfinished() > 0,
      [this] { return fork_of(session_, book_, settings_, {}, {}).fork; }, session_.belief().origin());
  for (const PolicyAdvice::Note& note : notes) session_.note(note.kind, note.fields);
}

}  // namespace smartmig
