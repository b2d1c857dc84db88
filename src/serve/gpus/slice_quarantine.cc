#include "serve/gpus/slice_quarantine.h"

#include "base/json.h"

namespace smartmig {

bool SliceQuarantine::put(SliceKey key, BoardState& state, std::string holder, const std::string& words,
                          Time expected) {
  const auto gpu = GpuId(key.first);
  const auto where = PlacementId(key.second);
  const GpuState& believed = session_.cluster().gpu(gpu);
  if (!believed.layout.contains(where) || believed.busy.contains(where)) return false;
  const auto id = QueueId(kPhantoms + ++last_);
  if (!session_.found_with(phantom(id, std::move(holder), expected), gpu, where, expected)) return false;
  phantoms_[key] = id;
  say(key, state, words);
  return true;
}

void SliceQuarantine::keep(SliceKey key, BoardState& state, std::string holder, const std::string& words) {
  session_.revise(phantom(phantoms_.at(key), std::move(holder), kLong), GpuId(key.first), PlacementId(key.second),
                  kLong);
  say(key, state, words);
}

JobRecord SliceQuarantine::phantom(QueueId id, std::string holder, Time expected) const {
  JobRecord nobody;
  nobody.id = id;
  nobody.spec.command = {std::move(holder)};
  nobody.work.estimate = expected;
  nobody.times.submitted = nobody.times.first_started = session_.now();
  return nobody;
}

void SliceQuarantine::say(SliceKey key, BoardState& state, const std::string& words) {
  state.quarantined[key.second] = words;
  session_.note("slice_quarantined",
                fmt::format("\"gpu\":{},\"slice\":\"{}\",\"words\":{}", key.first,
                            slice_name(*state.board.model, PlacementId(key.second)), json_text(words)));
}

void SliceQuarantine::lift(SliceKey key, BoardState& state) {
  const auto phantom = phantoms_.find(key);
  if (phantom == phantoms_.end()) return;
  session_.withdraw(phantom->second);
  phantoms_.erase(phantom);
  state.quarantined.erase(key.second);
  session_.note("slice_free", fmt::format("\"gpu\":{},\"slice\":\"{}\"", key.first,
                                          slice_name(*state.board.model, PlacementId(key.second))));
}

}  // namespace smartmig
