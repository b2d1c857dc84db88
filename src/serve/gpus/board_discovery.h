// What GPUs this machine has, when a daemon starts. A board that is lost cannot say what it is: it is what was in its
// place before, and out of service. Every board must be of a model of the catalogue.
#pragma once
#include "live/energy/power_fit.h"
#include "live/gpu/quarantine.h"
#include "model/platform.h"
#include "serve/gpus/board_state.h"

namespace smartmig {

// Why nothing may be placed on a board as it shows itself, in words that say what to do; empty: it may.
std::string unusable(const GpuBoard& board);

struct FoundBoards {
  std::vector<BoardState> boards;
  std::shared_ptr<const Platform> platform;
  std::string known;  // for the next start: UUID, product and model of each
};
// `known`: what an earlier daemon found, "" for nothing. `power`: the power model's name, as Platform::parse takes it,
// or "fitted": what `fit` has learned of each GPU model, and "auto" where it has too few readings. With "auto" a fit
// that is ready replaces rough figures.
Result<FoundBoards> find_boards(MigDriver& driver, const Quarantine& quarantine, const std::string& known,
                                const std::string& power, const PowerFit& fit);

}  // namespace smartmig
