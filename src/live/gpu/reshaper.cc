#include "live/gpu/reshaper.h"

#include <algorithm>

#include "live/durable_file.h"
#include "live/gpu/intent.h"
#include "mig/catalog.h"

namespace smartmig {

Result<Reshaper> Reshaper::open(MigDriver& driver, std::string state_dir, Options options) {
  SMARTMIG_RETURN_IF_ERROR(make_directories(state_dir));
  SMARTMIG_TRY(Quarantine quarantine, Quarantine::open(state_dir + "/quarantine.json"));
  return Reshaper(driver, std::move(state_dir), std::move(options), std::move(quarantine));
}

Result<Ok> Reshaper::allowed(const GpuBoard& board, const Move& move) const {
  if (const auto entry = quarantine_.find(board.uuid))
    return lost_error("{} is in quarantine: {}; release it with smartmig doctor --release {}", title(board),
                      entry->reason, board.uuid);
  for (const auto& entry : quarantine_.entries()) {
    if (entry.gpu != board.uuid) continue;
    const auto slice = parse_layout(*board.model, entry.slice);
    if (!slice) continue;
    const std::uint32_t mask = board.model->memory_mask(*slice);
    if (mask & (board.model->memory_mask(move.destroy) | board.model->memory_mask(move.create)))
      return lost_error("{}: {} is in quarantine: {}; release it with smartmig doctor --release {}", title(board),
                        entry.slice, entry.reason, board.uuid);
  }
  return Ok{};
}

Result<GpuBoard> Reshaper::sound_board(GpuId gpu) {
  SMARTMIG_TRY(GpuBoard board, driver_->read(gpu));
  if (!board.trouble.empty()) return invalid("{}: {}", title(board), board.trouble);
  if (!board.model) return unsupported("{} cannot be partitioned", title(board));
  return board;
}

Result<ReshapeOutcome> Reshaper::execute(GpuId gpu, const ReshapePlan& plan) {
  SMARTMIG_TRY(const GpuBoard board, sound_board(gpu));
  return execute(board, plan);
}

Result<ReshapeOutcome> Reshaper::apply(GpuId gpu, Operation operation) {
  SMARTMIG_TRY(const GpuBoard board, sound_board(gpu));
  const PlacementId p = operation.placement;
  if (index(p) >= board.model->placements().size()) return invalid("{} has no placement {}", title(board), index(p));
  Layout to = board.layout;
  if (operation.kind == Operation::kCreate && !to.contains(p)) {
    const auto larger = board.model->with(to, p);
    if (!larger)
      return busy_error("{}: no room for {} next to {}", title(board), slice_name(*board.model, p),
                        to_string(*board.model, to));
    to = *larger;
  } else if (operation.kind == Operation::kDestroy) {
    to = to - *board.model->with(Layout{}, p);
  }
  SMARTMIG_TRY(const ReshapePlan plan, plan_reshape(*board.model, board.layout, Layout{}, to));
  return execute(board, plan);
}

Result<ReshapeOutcome> Reshaper::execute(const GpuBoard& board, const ReshapePlan& plan) {
  const GpuId gpu{std::uint32_t(board.index)};
  SMARTMIG_RETURN_IF_ERROR(allowed(board, plan.move));
  const bool leftover = std::any_of(board.instances.begin(), board.instances.end(),
                                    [](const Instance& i) { return i.ours && i.compute_instance < 0; });
  if (board.layout != plan.from)
    return busy_error("{} has changed since the plan was made: it was {}, now it is {}; plan again", title(board),
                      to_string(*board.model, plan.from), to_string(*board.model, board.layout));
  if (plan.steps.empty() && !leftover) return ReshapeOutcome{ReshapeOutcome::kDone, board.layout, 0, "", board};
  SMARTMIG_TRY(const Layout busy, busy_for(gpu, board, plan.to));
  SMARTMIG_RETURN_IF_ERROR(plan_reshape(*board.model, board.layout, busy, plan.to));
  const Intent intent{board.uuid, board.model->name(), to_string(*board.model, plan.from),
                      to_string(*board.model, plan.to)};
  SMARTMIG_RETURN_IF_ERROR(write_durably(intent_path(state_dir_, board.uuid), to_json(intent)));
  reached("intent");
  SMARTMIG_TRY(ReshapeOutcome outcome, settle(board, plan.from, plan.to));
  reached("settled");
  SMARTMIG_RETURN_IF_ERROR(remove_durably(intent_path(state_dir_, board.uuid)));
  reached("intent removed");
  return outcome;
}

// Who runs there matters where a slice is to go. To ask takes long with MPS, and most of all while jobs start.
Result<Layout> Reshaper::busy_for(GpuId gpu, const GpuBoard& board, Layout target) {
  if ((board.layout - target).empty()) return Layout{};
  SMARTMIG_TRY(const auto running, driver_->processes(gpu));
  return busy_layout(board, running);
}

Result<ReshapeOutcome> Reshaper::settle(const GpuBoard& board, Layout from, Layout to) {
  const GpuId gpu{std::uint32_t(board.index)};
  int calls = 0;
  const auto forward = converge(gpu, to, calls);
  if (forward) return ReshapeOutcome{ReshapeOutcome::kDone, to, calls, "", *forward};
  const auto back = converge(gpu, from, calls);
  if (back)
    return ReshapeOutcome{
        ReshapeOutcome::kRolledBack, from, calls,
        fmt::format("{}; {} was restored: {}", forward.error().what, title(board), to_string(*board.model, from)),
        *back};
  return give_up(board, from,
                 fmt::format("{}; restoring the old layout failed too: {}", forward.error().what, back.error().what),
                 calls);
}

// Reads, compares, repairs; until the device shows the target or the rounds are used up.
Result<GpuBoard> Reshaper::converge(GpuId gpu, Layout target, int& calls) {
  Error last{Error::kLost, "the device never reported the requested layout"};
  for (int round = 0; round <= options_.rounds; ++round) {
    auto board = driver_->read(gpu);
    if (!board) {
      if (board.error().code == Error::kLost || board.error().code == Error::kTimeout) return board.error();
      last = board.error();
      continue;
    }
    const bool leftover = std::any_of(board->instances.begin(), board->instances.end(),
                                      [](const Instance& i) { return i.ours && i.compute_instance < 0; });
    if (!board->trouble.empty()) {
      last = lost_error("{}: {}", title(*board), board->trouble);
      continue;
    }
    if (board->layout == target && !leftover) return std::move(*board);
    if (round == options_.rounds) break;
    const auto tried = one_round(gpu, *board, target, calls);
    if (tried) continue;
    last = tried.error();
    if (last.code == Error::kBusy || last.code == Error::kNoPermission || last.code == Error::kTimeout) return last;
  }
  return last;
}

Result<Ok> Reshaper::one_round(GpuId gpu, const GpuBoard& board, Layout target, int& calls) {
  for (const Instance& i : board.instances)
    if (i.ours && i.compute_instance < 0) {
      ++calls;
      SMARTMIG_RETURN_IF_ERROR(driver_->destroy(gpu, i));
    }
  SMARTMIG_TRY(const Layout busy, busy_for(gpu, board, target));
  SMARTMIG_TRY(const ReshapePlan plan, plan_reshape(*board.model, board.layout, busy, target));
  for (const ReshapeStep& step : plan.steps) {
    ++calls;
    if (step.operation.kind == Operation::kDestroy) {
      SMARTMIG_RETURN_IF_ERROR(driver_->destroy(gpu, *find_instance(board, step.operation.placement)));
      reached("destroyed");
    } else {
      SMARTMIG_RETURN_IF_ERROR(driver_->create(gpu, step.operation.placement));
      reached("created");
    }
  }
  return Ok{};
}

// Only the slices that are not as they were, where the board can still be read; else the whole board.
Result<ReshapeOutcome> Reshaper::give_up(const GpuBoard& board, Layout from, std::string reason, int calls) {
  const GpuModel& model = *board.model;
  const auto seen = driver_->read(GpuId{std::uint32_t(board.index)});
  std::vector<std::string> slices;
  if (seen && seen->trouble.empty()) {
    for (PlacementId p : from - seen->layout) slices.push_back(slice_name(model, p));
    for (const Instance& i : seen->instances)
      if (i.compute_instance < 0 || !from.contains(i.placement)) slices.push_back(slice_name(model, i.placement));
    std::sort(slices.begin(), slices.end());
    slices.erase(std::unique(slices.begin(), slices.end()), slices.end());
  }
  for (const std::string& slice : slices) SMARTMIG_RETURN_IF_ERROR(quarantine_.add({board.uuid, slice, reason}));
  if (slices.empty()) SMARTMIG_RETURN_IF_ERROR(quarantine_.add({board.uuid, "", reason}));
  return ReshapeOutcome{ReshapeOutcome::kQuarantined, seen ? seen->layout : Layout{}, calls,
                        fmt::format("{}{} is in quarantine: {}", title(board),
                                    slices.empty() ? "" : fmt::format(", {}", fmt::join(slices, " ")), reason),
                        seen ? *seen : board};
}

Result<std::vector<std::string>> Reshaper::recover(const std::string& only) {
  SMARTMIG_TRY(const auto intents, read_intents(state_dir_));
  std::vector<std::string> words;
  if (intents.empty()) return words;
  SMARTMIG_TRY(const auto boards, driver_->inventory());
  for (const Intent& intent : intents) {
    if (!only.empty() && intent.gpu != only) continue;
    const auto at = std::find_if(boards.begin(), boards.end(), [&](const GpuBoard& b) { return b.uuid == intent.gpu; });
    if (at == boards.end() || !at->model) {
      SMARTMIG_RETURN_IF_ERROR(quarantine_.add(
          {intent.gpu, "", fmt::format("it vanished during a reshape from {} to {}", intent.from, intent.to)}));
      words.push_back(fmt::format("{} is gone and in quarantine; a reshape from {} to {} was not finished", intent.gpu,
                                  intent.from, intent.to));
    } else if (const auto then = Catalog::builtin().find(intent.model);
               then && (*then)->name() != at->model->name() && (*then)->tables() == at->model->tables()) {
      words.push_back(fmt::format("{0}: a reshape from {2} to {3} began while it was {1}; nothing of that is left",
                                  title(*at), intent.model, intent.from, intent.to));
    } else {
      SMARTMIG_TRY(const Layout from, parse_layout(*at->model, intent.from));
      SMARTMIG_TRY(const Layout to, parse_layout(*at->model, intent.to));
      SMARTMIG_TRY(const ReshapeOutcome outcome, settle(*at, from, to));
      words.push_back(
          outcome.kind == ReshapeOutcome::kDone
              ? fmt::format("{}: completed the reshape to {} that an earlier run began", title(*at), intent.to)
              : outcome.words);
    }
    SMARTMIG_RETURN_IF_ERROR(remove_durably(intent_path(state_dir_, intent.gpu)));
  }
  return words;
}

}  // namespace smartmig
