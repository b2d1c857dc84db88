#include "queue/policies/policy_advice.h"

#include <limits>
#include <set>

#include "base/json.h"
#include "queue/jobs/job_json.h"

namespace smartmig {
namespace {

constexpr double kGuardMargin = 0.01;
constexpr double kNoFuture = std::numeric_limits<double>::infinity();

// What an outcome costs; without prices by the weight that policies decide by.
double weighed(const std::optional<Outcome>& outcome, const std::optional<EnergyPrices>& prices) {
  if (!outcome) return kNoFuture;
  return prices ? outcome->cost(*prices) : watt_minutes(outcome->energy_j) * kPaperWeight + outcome->late_s / 60;
}

Json figures_of(const std::optional<Outcome>& outcome, const std::optional<EnergyPrices>& prices) {
  if (!outcome) return Json("it would leave jobs waiting forever");
  return Json{{"energy_j", outcome->energy_j},
              {"late_s", outcome->late_s},
              {"cost", prices ? Json(outcome->cost(*prices)) : Json()}};
}

}  // namespace

PolicyAdvice::PolicyAdvice(const Settings& settings, Policies& policies, LiveClock& clock, Time interval)
    : settings_(settings),
      policies_(policies),
      interval_(interval),
      advisor_(clock.is_virtual(), [&clock] { clock.wake(); }) {}

const Plan* PolicyAdvice::shadow_differs(const Cluster& cluster, const Plan& plan) {
  if (!shadow_) return nullptr;
  shadow_plan_.clear();
  shadow_->decide(cluster, shadow_plan_);
  const auto starts = [](const Plan& of) {
    std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> out;
    for (const Start& s : of.starts) out.emplace(index(s.job), index(s.gpu), index(s.where));
    return out;
  };
  if (starts(shadow_plan_) == starts(plan)) return nullptr;
  ++differences_;
  return &shadow_plan_;
}

std::vector<PolicyAdvice::Note> PolicyAdvice::consult(UnixTime now, bool jobs_wait, const std::function<Fork()>& fork,
                                                      UnixTime origin) {
  std::vector<Note> notes;
  if (const auto answer = advisor_.take()) notes = judge(*answer, origin);
  if (now < next_ || (!shadow_ && !policies_.guard())) return notes;
  next_ = now + interval_;
  if (!jobs_wait) return notes;
  std::vector<Advisor::Candidate> candidates = {{"own", policies_.own()}};
  if (const Guard* guard = policies_.guard())  // with the guard's own numbers
    for (std::size_t i = 1; i < guard->candidates().size(); ++i)
      candidates.push_back({guard->candidates()[i].name, policies_.other(guard->candidates()[i].name)});
  if (shadow_) candidates.push_back({"shadow", policies_.other(settings_.policy.shadow)});
  advisor_.ask(fork(), std::move(candidates));
  return notes;
}

std::vector<PolicyAdvice::Note> PolicyAdvice::judge(const Advisor::Answer& answer, UnixTime origin) {
  std::vector<Note> notes;
  const auto cost = [&](std::size_t i) { return weighed(answer.outcomes[i], settings_.priced()); };
  if (answer.names.back() == "shadow") {
    report_ = {{"at", unix_seconds(answer.asked + origin)},
               {"own", figures_of(answer.outcomes[0], settings_.priced())},
               {"shadow", figures_of(answer.outcomes.back(), settings_.priced())}};
    notes.push_back({"shadow_cost", "\"compared\":" + json_dump(report_)});
  }
  Guard* guard = policies_.guard();
  if (!guard || answer.names.size() < guard->candidates().size()) return notes;  // it was asked without a guard
  std::size_t best = 1;
  for (std::size_t i = 2; i < guard->candidates().size(); ++i)
    if (cost(i) < cost(best)) best = i;
  if (cost(best) == kNoFuture) return notes;
  const bool worse = cost(0) > cost(best) * (1 + kGuardMargin);
  if (worse != (guard->deciding() != 0))
    notes.push_back({"guard", fmt::format("\"policy\":{},\"falls_back\":{}", json_text(policies_.name()), worse)});
  guard->use(worse ? best : 0);
  return notes;
}

Json PolicyAdvice::shadow_json(std::uint64_t decisions) const {
  return {{"policy", settings_.policy.shadow},
          {"decisions", decisions},
          {"differences", differences_},
          {"compared", report_}};
}

}  // namespace smartmig
