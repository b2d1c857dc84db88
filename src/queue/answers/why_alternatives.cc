// What else could be done for a waiting job, each alternative lived through on a copy of the queue; and `why` as JSON.
#include <algorithm>

#include "queue/answers/why.h"

namespace smartmig {

namespace {

UnixTime outside(Time at, UnixTime origin) { return at == kNever ? kNeverUnix : origin + at; }

}  // namespace

std::vector<Alternative> priced_alternatives(const Fork& fork, std::size_t at, const PolicyMaker& policy,
                                             const std::optional<EnergyPrices>& prices, UnixTime origin,
                                             std::optional<Outcome>* as_it_is, LookLimit limit) {
  std::vector<Alternative> out;
  if (at >= fork.jobs.size()) return out;
  const ForkJob* mine = &fork.jobs[at];
  const auto add = [&](std::string what, Fork changed) {
    if (!out.empty()) changed.decided = false;  // what is changed is decided about anew, and at once
    const auto outcome = run_future(changed, policy, {}, nullptr, limit);
    if (!outcome) return;
    const JobOutcome& one = outcome->jobs[at];
    Alternative alternative{std::move(what), outside(one.start, origin), outside(one.finish, origin),
                            one.late_s,      outcome->energy_j,          {}};
    if (prices) alternative.cost = outcome->cost(*prices);
    if (as_it_is && out.empty()) *as_it_is = *outcome;
    out.push_back(std::move(alternative));
  };
  add("unchanged", fork);
  if (!out.empty() && out[0].start == kNeverUnix) return out;
  {
    Fork urgent = fork;
    urgent.jobs[at].job.deadline = std::min(urgent.jobs[at].job.deadline, fork.now);
    urgent.jobs[at].job.deadline_made_up = false;
    add("with an earlier --deadline (urgent)", urgent);
  }
  int least = 0;
  for (int k = kMaxComputeSlices; k >= 1; --k)
    if (mine->job.work_on(k) >= Time{0}) least = k;
  if (least > 1 && mine->gpu == kNoGpu) {
    // Its time on smaller slices is not known: taken as if it used all it has now.
    Fork fewer = fork;
    Job& job = fewer.jobs[at].job;
    for (const Profile& profile : fork.platform->models()[0].gpu->profiles()) {
      const int k = profile.compute_slices;
      if (k < least) job.work[std::size_t(k - 1)] = job.work_on(least) * least / k;
    }
    add("on a slice of any size", fewer);
  }
  const std::string model = fork.platform->models()[0].gpu->name();
  if (const auto larger = with_gpus(fork, "1x" + model)) add(fmt::format("with one more {}", model), *larger);
  return out;
}

std::vector<Awaited> awaited_by(const Fork& fork, std::size_t at, const std::optional<Outcome>& as_it_is,
                                UnixTime origin) {
  std::vector<Awaited> out;
  for (const ForkAfter& after : fork.jobs[at].after) {
    const auto other =
        std::find_if(fork.jobs.begin(), fork.jobs.end(), [&](const ForkJob& job) { return job.key == after.job; });
    Awaited one{after.job, after.when, kNeverUnix};
    if (as_it_is && other != fork.jobs.end()) {
      const JobOutcome& outcome = as_it_is->jobs[std::size_t(other - fork.jobs.begin())];
      one.expected = outside(after.when == ForkAfter::kStarts ? outcome.start : outcome.finish, origin);
    }
    out.push_back(one);
  }
  return out;
}

std::string awaited_words(const std::vector<Awaited>& awaited, UnixTime now) {
  std::string out;
  for (const Awaited& one : awaited) {
    const char* what = one.when == ForkAfter::kStarts ? "start" : "end";
    out += one.expected == kNeverUnix
               ? fmt::format("; job {} has no expected {}", one.job, what)
               : fmt::format("; job {} is expected to {} at {}", one.job, what, clock_words(one.expected, now));
    if (one.when == ForkAfter::kEndsBadly) out += ", and this job runs only if that one fails";
  }
  return out;
}

nlohmann::json to_json(std::uint64_t job, const Why& why) {
  const auto instant = [](UnixTime at) {
    return at == kNeverUnix ? nlohmann::json(nullptr) : nlohmann::json(unix_seconds(at));
  };
  nlohmann::json alternatives = nlohmann::json::array();
  for (const Alternative& a : why.alternatives)
    alternatives.push_back({{"what", a.what},
                            {"start_at", instant(a.start)},
                            {"finish_at", instant(a.finish)},
                            {"late_s", a.late_s ? nlohmann::json(*a.late_s) : nlohmann::json(nullptr)},
                            {"energy_j", a.energy_j},
                            {"cost", a.cost ? nlohmann::json(*a.cost) : nlohmann::json(nullptr)}});
  nlohmann::json blocked_by = nlohmann::json::array();
  for (const Blocker& b : why.blocked_by)
    blocked_by.push_back(
        {{"gpu", index(b.gpu)}, {"slice", b.slice}, {"job", b.job}, {"until_at", unix_seconds(b.until)}});
  nlohmann::json waits_for = nlohmann::json::array();
  for (const Awaited& one : why.waits_for)
    waits_for.push_back({{"job", one.job},
                         {"until", one.when == ForkAfter::kStarts ? "start" : "end"},
                         {"expected_at", instant(one.expected)}});
  nlohmann::json reservation;
  if (why.reservation) {
    const Reservation& r = *why.reservation;
    reservation = {{"gpu", index(r.gpu)},
                   {"slice", r.slice},
                   {"start_at", unix_seconds(r.start)},
                   {"finish_at", unix_seconds(r.finish)},
                   {"held_until", r.latest ? nlohmann::json(unix_seconds(*r.latest)) : nlohmann::json(nullptr)},
                   {"after", r.after}};
  }
  return {{"job", job},
          {"code", why.code},
          {"sentence", why.sentence},
          {"to_change", why.to_change},
          {"reservation", std::move(reservation)},
          {"blocked_by", std::move(blocked_by)},
          {"waits_for", std::move(waits_for)},
          {"alternatives", std::move(alternatives)}};
}

}  // namespace smartmig
