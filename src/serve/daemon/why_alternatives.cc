// What else could be done for a waiting job, each alternative lived through on a copy of the queue; and `why` as JSON.
#include <algorithm>

#include "serve/daemon/why.h"

namespace smartmig {

std::vector<Alternative> priced_alternatives(const Fork& fork, JobId live, const PolicyMaker& policy,
                                             const std::optional<EnergyPrices>& prices, UnixTime origin) {
  std::vector<Alternative> out;
  const auto mine = std::find_if(fork.jobs.begin(), fork.jobs.end(), [&](const ForkJob& j) { return j.live == live; });
  if (mine == fork.jobs.end()) return out;
  const std::size_t at = std::size_t(mine - fork.jobs.begin());
  const auto add = [&](std::string what, Fork changed) {
    if (!out.empty()) changed.decided = false;  // what is changed is decided about anew, and at once
    const auto outcome = run_future(changed, policy);
    if (!outcome) return;
    const JobOutcome& one = outcome->jobs[at];
    Alternative alternative{std::move(what), origin + one.start, origin + one.finish,
                            one.late_s,      outcome->energy_j,  {}};
    if (prices) alternative.cost = outcome->cost(*prices);
    out.push_back(std::move(alternative));
  };
  add("as it is", fork);
  {
    Fork urgent = fork;
    urgent.jobs[at].job.deadline = std::min(urgent.jobs[at].job.deadline, fork.now);
    urgent.jobs[at].job.deadline_made_up = false;
    add("treated as urgent (an earlier --deadline)", urgent);
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

nlohmann::json to_json(std::uint64_t job, const Why& why) {
  nlohmann::json alternatives = nlohmann::json::array();
  for (const Alternative& a : why.alternatives)
    alternatives.push_back({{"what", a.what},
                            {"start_at", unix_seconds(a.start)},
                            {"finish_at", unix_seconds(a.finish)},
                            {"late_s", a.late_s},
                            {"energy_j", a.energy_j},
                            {"cost", a.cost ? nlohmann::json(*a.cost) : nlohmann::json(nullptr)}});
  nlohmann::json blocked_by = nlohmann::json::array();
  for (const Blocker& b : why.blocked_by)
    blocked_by.push_back(
        {{"gpu", index(b.gpu)}, {"slice", b.slice}, {"job", b.job}, {"until_at", unix_seconds(b.until)}});
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
          {"alternatives", std::move(alternatives)}};
}

}  // namespace smartmig
