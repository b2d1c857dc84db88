#include "cli/gpus/exercise.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/file.h"
#include "base/json.h"
#include "cli/gpus/machine.h"
#include "cli/gpus/slice_users.h"
#include "cli/on_interrupt.h"
#include "cli/verbs.h"

namespace smartmig::cli {
namespace {

Time steady_now() { return std::chrono::duration_cast<Time>(std::chrono::steady_clock::now().time_since_epoch()); }

const GpuBoard* named(const std::vector<GpuBoard>& boards, const std::string& gpu) {
  for (const GpuBoard& board : boards)
    if (board.uuid == gpu || std::to_string(board.index) == gpu) return &board;
  return nullptr;
}

}  // namespace

void ExerciseFlags::declare(Command& cmd) {
  cmd.heading("Exercise");
  cmd.option(
         "--exercise", gpu, "GPU",
         "create, use and destroy every slice of this idle GPU (index or UUID), compare the results with the tables, and restore the previous layout")
      .option("--output", output, "FILE",
              "with --exercise: file for the report, which names no user (default: smartmig-exercise-MODEL.json)")
      .alias("-o")
      .also("--output-file")
      .option("--watch-s", watch_s, "SECONDS", "with --exercise: how long to measure the power of each profile");
  cmd.heading("");
}

int run_exercise(const GpuOptions& options, const ExerciseFlags& flags) {
  if (options.driver == "mps") return usage_error(invalid("--exercise works only with MIG; leave out --driver mps"));
  if (!(flags.watch_s > 0 && flags.watch_s <= 600))
    return usage_error(invalid("--watch-s must be above 0 and at most 600, not {}", flags.watch_s));
  auto machine = Machine::open(options, true, flags.gpu);
  if (!machine) {
    Error error = machine.error();
    if (error.code == Error::kInvalid) return usage_error(error);
    if (error.code == Error::kBusy) error.what += "; or let its daemon give the GPU up: smartmig drain " + flags.gpu;
    return failure(error);
  }
  MigDriver& driver = machine->driver();
  const auto boards = driver.inventory();
  if (!boards) return failure(boards.error());
  const GpuBoard* const board = named(*boards, flags.gpu);
  if (!board) return usage_error(not_found("--exercise: there is no GPU '{}'; give an index or UUID", flags.gpu));
  const GpuId gpu{std::uint32_t(board->index)};
  auto reshaper = Reshaper::open(driver, machine->state_dir());
  if (!reshaper) return failure(reshaper.error());
  if (const auto recovered = reshaper->recover(board->uuid); !recovered) return failure(recovered.error());
  const auto restored = restore_exercised(driver, *reshaper, machine->state_dir(), gpu);
  if (!restored) return failure(restored.error());
  if (!restored->empty()) fmt::print(stderr, "smartmig: {}\n", *restored);

  std::unique_ptr<SliceUser> user;
  ExerciseOptions exercising;
  if (const auto sim = machine->sim()) {
    user = std::make_unique<StandInUser>(sim);
    exercising.now = [sim] {
      unsigned long long now = 0;
      sim->nvmlSimNow(&now);
      return Time(std::int64_t(now));
    };
    exercising.sleep = [sim](Time t) { sim->nvmlSimSleep(static_cast<unsigned long long>(t.count())); };
  } else {
    user = std::make_unique<ProbeUser>();
    exercising.now = steady_now;
    exercising.sleep = [](Time t) { std::this_thread::sleep_for(t); };
  }
  std::atomic<bool> stopped = false;
  OnInterrupt guard([&] {
    fmt::print(stderr, "smartmig: stopping and restoring the previous layout\n");
    stopped = true;
  });
  exercising.state_dir = machine->state_dir();
  exercising.version = SMARTMIG_VERSION;
  exercising.adopt = options.adopt;
  exercising.watch = from_seconds(flags.watch_s);
  exercising.stopped = [&] { return stopped.load(); };
  exercising.tell = [&](std::string_view what) {
    if (!options.json) fmt::print(stderr, "exercising {}\n", what);
  };
  const auto report = exercise(driver, *reshaper, *user, gpu, exercising);
  if (!report) return failure(report.error());
  const std::string path =
      flags.output.empty() ? fmt::format("smartmig-exercise-{}.json", report->model) : flags.output;
  const std::string text = json_dump(to_json(*report), 1) + "\n";
  if (const auto written = write_file(path, text); !written) return failure(written.error());
  if (options.json)
    fmt::print("{}", text);
  else
    fmt::print("{}The report is in {}; it names no machine, user or process. Please send it to the project.\n",
               to_text(*report), path);
  if (guard.signal()) return 128 + guard.signal();
  return report->finished && report->restored && report->disagreements() == 0 ? 0 : 1;
}

}  // namespace smartmig::cli
