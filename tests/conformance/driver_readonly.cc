// The read-only half of the conformance suite, for a real GPU: loads NVML, checks every board against the catalogue and
// asks for everything that MigDriver can read. It takes no lock, writes no file and changes no setting.
//   driver_readonly [LIBRARY]        exit 0: all sound; 1: something is not; 2: NVML cannot be opened
#include <fmt/format.h>
#include <unistd.h>

#include <set>

#include "live/gpu/holders.h"
#include "live/gpu/nvml_driver.h"
#include "live/gpu/reshape.h"
#include "mig/slice_choice.h"

using namespace smartmig;

namespace {

int failures = 0;

void expect(bool ok, std::string_view what, const std::string& detail = "") {
  fmt::print("{}  {}{}{}\n", ok ? "ok    " : "FAILED", what, detail.empty() ? "" : ": ", detail);
  failures += !ok;
}

const char* words(MigMode mode) {
  return mode == MigMode::kOn ? "on" : mode == MigMode::kOff ? "off" : "not supported";
}

void check_board(NvmlDriver& driver, const GpuBoard& board) {
  const GpuId gpu{std::uint32_t(board.index)};
  fmt::print("\nGPU {}: {}, {}, {}, {} MiB ({} used), MIG mode {} (pending {})\n", board.index, board.product,
             board.uuid, board.pci_id, board.memory_mib, board.used_mib, words(board.mode), words(board.pending));
  expect(board.uuid.starts_with("GPU-"), "UUID of a board");
  if (!board.model) {
    fmt::print("skipped: no MIG on this board, or it is not in the catalogue {}\n", board.trouble);
    return;
  }
  const GpuModel& model = *board.model;
  expect(board.trouble.empty(), fmt::format("geometry equals catalogue entry {}", model.name()), board.trouble);
  for (const std::string& note : board.notes) fmt::print("note    {}\n", note);
  for (const Profile& p : model.profiles())
    fmt::print("        {:<14} id {:>2}  {} compute slices  {:>3} SMs  {:>6} MiB  starts {}\n", p.name, p.nvml_id,
               p.compute_slices, p.sms, p.memory_mib, fmt::join(p.starts, " "));
  const auto again = driver.read(gpu);
  expect(bool(again), "reading the board again", again ? "" : again.error().what);
  if (again) {
    expect(again->uuid == board.uuid && again->layout == board.layout, "two readings agree");
  }
  expect(bool(driver.health(gpu)), "health");
  const auto watts = driver.power(gpu);
  expect(watts && *watts > 5 && *watts < 2500, "power", watts ? fmt::format("{:.1f} W", *watts) : watts.error().what);
  const auto before = driver.energy(gpu);
  ::usleep(1'000'000);
  const auto after = driver.energy(gpu);
  const bool counts = before && after && *after > *before;
  expect(counts, "energy counter grows", counts ? fmt::format("{:.1f} J in one second", *after - *before) : "");
  if (counts && watts) {
    expect(*after - *before > *watts / 4 && *after - *before < *watts * 4 + 50, "energy and power tell the same story");
  }
  const auto processes = driver.processes(gpu);
  expect(bool(processes), "processes", processes ? fmt::format("{}", processes->size()) : processes.error().what);
  fmt::print("        holders: {}\n", describe(find_holders({"/proc", board.index, -1, -1})));

  const auto refused = driver.create(gpu, PlacementId{0});
  expect(!refused && refused.error().code == Error::kNoPermission, "a driver opened for reading creates nothing");
  const auto mode = driver.set_mig_mode(gpu, board.mode != MigMode::kOn);
  expect(!mode, "a driver opened for reading changes no mode", mode ? "" : mode.error().what);

  const auto shapes = ShapeTable(model, model.schedulable_profiles());
  int plans = 0;
  for (Shape shape : shapes.maximal_shapes()) plans += bool(plan_reshape(shapes, board.layout, {}, shape));
  expect(plans == int(shapes.maximal_shapes().size()), "a plan to every complete shape",
         fmt::format("{} plans", plans));
  const auto offer = SliceChoice(model).best({board.layout, board.layout, {}}, model.find_profile("1g"));
  expect(bool(offer), "a place for the smallest slice", offer ? slice_name(model, offer->where) : "");
}

}  // namespace

int main(int argc, char** argv) {
  NvmlDriver::Options options;
  if (argc > 1) options.library = argv[1];
  auto driver = NvmlDriver::open(std::move(options));
  if (!driver) {
    fmt::print(stderr, "driver_readonly: {}\n", driver.error().what);
    return 2;
  }
  const auto boards = (*driver)->inventory();
  if (!boards) {
    fmt::print(stderr, "driver_readonly: {}\n", boards.error().what);
    return 1;
  }
  fmt::print("driver {}, {} GPUs\n", (*driver)->driver_version(), boards->size());
  std::set<std::string> uuids;
  for (const GpuBoard& board : *boards) uuids.insert(board.uuid);
  expect(!boards->empty() && uuids.size() == boards->size(), "every board has a UUID of its own");
  for (const GpuBoard& board : *boards) check_board(**driver, board);
  const auto last = (*driver)->inventory();
  bool same = last && last->size() == boards->size();
  for (std::size_t i = 0; same && i < last->size(); ++i)
    same = (*last)[i].mode == (*boards)[i].mode && (*last)[i].pending == (*boards)[i].pending &&
           (*last)[i].layout == (*boards)[i].layout;
  fmt::print("\n");
  expect(same, "mode and layout of every board are as they were found");
  fmt::print("{} failed\n", failures);
  return failures > 0 ? 1 : 0;
}
