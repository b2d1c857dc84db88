#include "serve/daemon/slice_quarantine.h"

#include "base/json.h"

namespace smartmig {

bool SliceQuarantine::put(SliceKey key, BoardState& state, std::string holder, const std::string& words,
                          Time expected) {
  const auto gpu = GpuId(key.first);
  const auto where = PlacementId(key.second);
  const GpuState& believed = session_.cluster().gpu(gpu);
  if (!believed.layout.contains(where) || believed.busy.contains(where)) return false;
  JobRecord nobody;
  nobody.id = QueueId(kPhantoms + ++last_);
  nobody.spec.command = {std::move(holder)};
  nobody.work.estimate = expected;
  nobody.times.submitted = nobody.times.first_started = session_.now();
  if (!session_.found_with(nobody, gpu, where, nobody.work.estimate)) return false;
  phantoms_[key] = nobody.id;
  state.quarantined[key.second] = words;
  session_.note("slice_quarantined", fmt::format("\"gpu\":{},\"slice\":\"{}\",\"words\":{}", key.first,
                                                 slice_name(*state.board.model, where), json_text(words)));
  return true;
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
