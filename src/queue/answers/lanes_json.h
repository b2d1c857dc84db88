// Futures as JSON: the slices of one (docs/api.md, Stay and LayoutStep), its figures, and the spread of an instant.
#pragma once
#include <nlohmann/json.hpp>

#include "eval/futures.h"
#include "queue/belief/live_fork.h"

namespace smartmig {

// Puts "stays" and "layouts" into `out`. `ids`: the queue's numbers of the fork's jobs; kNoId: one that is not there.
void put_lanes(nlohmann::json& out, const Fork& fork, const std::vector<Event>& events, const std::vector<QueueId>& ids,
               UnixTime origin);
// After so long no more futures are drawn for a question: a long queue on a busy machine takes seconds for each.
inline constexpr std::chrono::seconds kForFutures{4};
// Puts "outcome", "jobs", "stays", "layouts" and "futures" of `count` futures of the fork, or of as many as kForFutures
// lets, into `out`; takes as long as they do.
Result<Ok> put_futures(nlohmann::json& out, const LiveFork& live, const PolicyMaker& policy, int count);
nlohmann::json outcome_json(const Outcome& outcome, UnixTime origin, const std::optional<EnergyPrices>& prices);
nlohmann::json spread_json(const Spread& spread, UnixTime origin);
nlohmann::json instant_json(Time at, UnixTime origin);                  // null: never
nlohmann::json no_start_json(NoStart why);                              // null: it starts
nlohmann::json late_json(const std::optional<double>& late_s);          // null: without a deadline or an end
nlohmann::json eta_json(const Eta& eta, UnixTime origin, int futures);  // what eta and futures say of a job

}  // namespace smartmig
