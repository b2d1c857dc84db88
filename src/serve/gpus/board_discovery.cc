#include "serve/gpus/board_discovery.h"

#include "base/json.h"
#include "mig/catalog.h"

namespace smartmig {
namespace {

void recall(GpuBoard& board, const Json& known) {
  if (board.model || board.trouble.empty() || !known.is_object()) return;
  if (!board.uuid.empty() && board.uuid != known.value("uuid", "")) return;
  const auto model = Catalog::builtin().find(known.value("model", ""));
  if (!model) return;
  board.uuid = known.value("uuid", "");
  board.product = known.value("product", "");
  board.model = *model;
}

// "2xa100-40gb,1xa30-24gb", in the order of the boards.
Result<std::string> spec_of(const std::vector<GpuBoard>& boards) {
  std::string spec;
  for (std::size_t i = 0, next = 0; i < boards.size(); i = next) {
    if (!boards[i].model)
      return Error{Error::kUnsupported,
                   boards[i].trouble.empty()
                       ? fmt::format("{} is not in the catalogue of GPU models", title(boards[i]))
                       : fmt::format("{}, and its model is unknown; repair or remove it", boards[i].trouble)};
    while (next < boards.size() && boards[next].model && boards[next].model->name() == boards[i].model->name()) ++next;
    spec += fmt::format("{}{}x{}", spec.empty() ? "" : ",", next - i, boards[i].model->name());
  }
  return spec;
}

BoardState state_of(GpuBoard board, const Quarantine& quarantine) {
  BoardState state;
  const auto entry = quarantine.find(board.uuid);
  state.words = entry ? entry->reason : unusable(board);
  if (!state.words.empty()) state.trouble = board.lost ? GpuTrouble::kLost : GpuTrouble::kQuarantined;
  state.board = std::move(board);
  return state;
}

// By GPU model, where the fit is to be used: "h100-80gb-sxm=fitted:88:120:31:700"; else `power`.
Result<std::string> power_of(const std::vector<GpuBoard>& boards, const std::string& power, const PowerFit& fit) {
  if (power != "auto" && power != "fitted") return power;
  std::map<std::string, std::string> fitted;
  for (const GpuBoard& board : boards) {
    const auto line = fit.line(board.model->name());
    if (!line || !line->ready) continue;
    SMARTMIG_TRY(const PowerModel known, PowerModel::named("auto", *board.model));
    if (power == "fitted" || known.rough()) fitted[board.model->name()] = line->power_name();
  }
  std::string spec;
  for (const auto& [model, name] : fitted) spec += fmt::format("{}{}={}", spec.empty() ? "" : ",", model, name);
  return spec.empty() ? "auto" : spec;
}

}  // namespace

std::string unusable(const GpuBoard& board) {
  if (!board.trouble.empty()) return board.trouble;
  if (!foreign_layout(board).empty())
    return fmt::format("{} has slices that smartmig did not create ({}); start with --adopt to take them over",
                       title(board), to_string(*board.model, foreign_layout(board)));
  for (const Instance& i : board.instances)
    if (!i.parts.empty())
      return fmt::format("{}: {} is divided into compute instances; make it whole with smartmig apply", title(board),
                         slice_name(*board.model, i.placement));
  return {};
}

Result<FoundBoards> find_boards(MigDriver& driver, const Quarantine& quarantine, const std::string& known,
                                const std::string& power, const PowerFit& fit) {
  SMARTMIG_TRY(auto boards, driver.inventory());
  if (boards.empty())
    return not_found("this machine has no GPU; for emulated GPUs use smartmig serve --emulate 8xa100-40gb");
  if (const auto before = parse_json("the boards known before", known); before && before->is_array())
    for (std::size_t i = 0; i < boards.size() && i < before->size(); ++i) recall(boards[i], (*before)[i]);
  FoundBoards found;
  SMARTMIG_TRY(const std::string spec, spec_of(boards));
  SMARTMIG_TRY(const std::string watts, power_of(boards, power, fit));
  SMARTMIG_TRY(auto platform, Platform::parse(spec, watts));
  found.platform = std::make_shared<const Platform>(std::move(platform));
  Json seen = Json::array();
  for (GpuBoard& board : boards) {
    seen.push_back({{"uuid", board.uuid}, {"product", board.product}, {"model", board.model->name()}});
    found.boards.push_back(state_of(std::move(board), quarantine));
  }
  found.known = json_dump(seen);
  return found;
}

}  // namespace smartmig
