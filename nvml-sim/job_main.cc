// smartmig-emulated-job: behaves like a training job on an emulated slice.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "arguments.h"
#include "base/file.h"
#include "base/text.h"
#include "board.h"
#include "job_curve.h"
#include "job_speed.h"
#include "sim_api.h"
#include "store.h"

using namespace smartmig;
using namespace smartmig::nvsim;

namespace {

constexpr const char* kHelp =
    R"(smartmig-emulated-job: a job on an emulated GPU slice (NVML_SIM_STATE, CUDA_VISIBLE_DEVICES=MIG-<uuid>).
It advances at the slice's speed for its kind, holds memory along a curve, prints progress, and fails with a CUDA
out-of-memory message when it passes the slice's memory.

  --work-s X               seconds of work on the whole GPU (required)
  --kind NAME              a job kind of data/speeds.csv, for example bert-train-8
  --steps N                steps of progress to print; default 100
  --mem-curve CURVE        SECONDS:AMOUNT points, for example 0:500M,10:4G; straight lines between them
  --checkpoint-signal SIG  USR1, USR2, TERM, INT or HUP: write --checkpoint-file, then exit
  --checkpoint-file FILE   written whole or not at all; a job that finds it goes on from there
  --checkpoint-exit N      exit code after a checkpoint; default 0
  --ignore-signal SIGS     signals to ignore, for example TERM,INT
  --fail-after-s X         exit 1 after X seconds of run time
  --time-scale X           on a real clock, X emulated seconds pass in one; default 1
  --slice MODEL:PROFILE    run without an emulated machine, as if on that slice: a100-40gb:2g.10gb

Example: NVML_SIM_STATE=/tmp/node CUDA_VISIBLE_DEVICES=MIG-... smartmig-emulated-job --kind bert-train-8 --work-s 60
)";

volatile sig_atomic_t checkpoint_wanted = 0;
void on_checkpoint(int) {
  checkpoint_wanted = 1;
  nvmlSimInterrupt();
}

Result<int> signal_named(std::string_view name) {
  static const std::map<std::string_view, int> names = {
      {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"TERM", SIGTERM}, {"INT", SIGINT}, {"HUP", SIGHUP}};
  if (name.starts_with("SIG")) name.remove_prefix(3);
  const auto found = names.find(name);
  if (found == names.end()) return invalid("no signal '{}': USR1, USR2, TERM, INT or HUP", name);
  return found->second;
}

struct Options {
  std::string kind, mem_curve = "0", checkpoint_signal, checkpoint_file, ignore_signal, slice;
  double work_s = -1, time_scale = 1, fail_after_s = -1;
  long long steps = 100, checkpoint_exit = 0;
  bool help = false;
};

// The slice and its clock: an emulated machine's, or the host's with --slice.
struct Place {
  bool machine = false, is_virtual = false;
  std::string gpu, profile, uuid;
  int slices = 0;
  std::uint64_t memory = 0;

  std::uint64_t now() const {
    unsigned long long us = 0;
    if (machine) nvmlSimNow(&us);
    return machine ? us : host_now_us();
  }
  void sleep_until(std::uint64_t time) const {
    while (!checkpoint_wanted) {
      const std::uint64_t present = now();
      if (present >= time) return;
      if (machine)
        nvmlSimSleep(time - present);
      else
        ::usleep(useconds_t(std::min<std::uint64_t>(time - present, 20000)));
    }
  }
};

Result<Place> find_place(const Options& options) {
  Place place;
  if (!options.slice.empty()) {
    const auto colon = options.slice.find(':');
    if (colon == std::string::npos) return invalid("--slice {}: write MODEL:PROFILE, a100-40gb:2g.10gb", options.slice);
    place.gpu = options.slice.substr(0, colon);
    SMARTMIG_TRY(const auto board, Board::named(place.gpu, "auto"));
    const int profile = board->model().find_profile(options.slice.substr(colon + 1));
    if (profile < 0) return not_found("{} has no profile {}", place.gpu, options.slice.substr(colon + 1));
    place.gpu = board->name();
    place.profile = board->profile(profile).name;
    place.slices = board->profile(profile).compute_slices;
    place.memory = std::uint64_t(board->memory_mib(profile)) << 20;
    return place;
  }
  if (!std::getenv("NVML_SIM_STATE"))
    return invalid("no emulated machine: set NVML_SIM_STATE to its directory, or give --slice");
  if (nvmlInit_v2() != NVML_SUCCESS) return io_error("{}", nvmlSimLastError());
  nvmlSimSlice_t slice;
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (const nvmlReturn_t status = nvmlSimGetSlice(nullptr, &slice); status != NVML_SUCCESS)
    return not_found("CUDA error: no CUDA-capable device is detected (CUDA_VISIBLE_DEVICES={}: {})",
                     visible ? visible : "", nvmlErrorString(status));
  unsigned mode = 0;
  nvmlSimClockMode(&mode);
  place.machine = true;
  place.is_virtual = mode == NVML_SIM_CLOCK_VIRTUAL;
  place.gpu = slice.gpuModel;
  place.profile = slice.profile;
  place.slices = int(slice.computeSlices);
  place.memory = slice.memoryBytes;
  place.uuid = slice.uuid;
  const nvmlReturn_t status = nvmlSimRegisterProcess(slice.uuid, options.kind.c_str());
  if (status == NVML_ERROR_IN_USE) {  // by who started us
    if (!options.kind.empty()) nvmlSimSetKind(options.kind.c_str());
  } else if (status != NVML_SUCCESS)
    return not_found("CUDA error: {} cannot be used: {}", slice.uuid, nvmlErrorString(status));
  return place;
}

constexpr std::string_view kCheckpointHead = "smartmig-emulated-job checkpoint 1\nwork_s ";

Result<double> load_checkpoint(const std::string& path) {
  if (path.empty() || ::access(path.c_str(), F_OK) != 0) return 0.0;
  SMARTMIG_TRY(const std::string text, read_file(path));
  const auto done = text.starts_with(kCheckpointHead)
                        ? parse_double(trim(std::string_view(text).substr(kCheckpointHead.size())))
                        : std::nullopt;
  if (!done || *done < 0) return invalid("{}: not a checkpoint of this program; remove it to start anew", path);
  return *done;
}

std::string amount(std::uint64_t bytes) {
  return bytes >= 1u << 30 ? fmt::format("{:.2f} GiB", double(bytes) / 0x1p30)
                           : fmt::format("{:.2f} MiB", double(bytes) / 0x1p20);
}

void say_out_of_memory(std::uint64_t held, std::uint64_t asked, std::uint64_t total) {
  std::fflush(stdout);
  fmt::print(stderr,
             "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {}. GPU 0 has a total capacity of {} of "
             "which {} is free.\n",
             amount(std::max<std::uint64_t>(asked - held, 2u << 20)), amount(total),
             amount(total - std::min(total, held)));
}

Result<int> run(const Options& options) {
  if (options.work_s < 0 || options.work_s > kMaxSeconds)
    return invalid("--work-s: give the seconds of work, 0 or more");
  if (options.steps < 1 || options.steps > 1000000000) return invalid("--steps: at least 1");
  if (!(options.time_scale > 0) || options.time_scale > 1e6) return invalid("--time-scale: above 0, at most 1000000");
  SMARTMIG_TRY(const MemoryCurve curve, MemoryCurve::parse(options.mem_curve));
  if (!options.ignore_signal.empty())
    for (const std::string_view name : split(options.ignore_signal, ',')) {
      SMARTMIG_TRY(const int number, signal_named(trim(name)));
      ::signal(number, SIG_IGN);
    }
  if (!options.checkpoint_signal.empty()) {
    if (options.checkpoint_file.empty()) return invalid("--checkpoint-signal needs --checkpoint-file");
    SMARTMIG_TRY(const int number, signal_named(options.checkpoint_signal));
    struct sigaction action {};
    action.sa_handler = on_checkpoint;
    ::sigaction(number, &action, nullptr);
  }
  SMARTMIG_TRY(const double before, load_checkpoint(options.checkpoint_file));
  SMARTMIG_TRY(const Place place, find_place(options));
  SMARTMIG_TRY(const double speed, relative_speed(options.kind, place.gpu, place.profile, place.slices));

  const double scale = place.is_virtual ? 1 : options.time_scale, work = options.work_s;
  const double length = std::max(0.0, work - before) / speed;  // seconds of run time
  const double rate = work > 0 ? double(options.steps) * speed / work : 0;
  const std::uint64_t began = place.now();
  fmt::print("{} on {} {}, {:.2f} of the whole GPU's speed{}\n", options.kind.empty() ? "job" : options.kind, place.gpu,
             place.profile, speed, before > 0 ? fmt::format(", from {:.1f} s of work", before) : "");
  std::fflush(stdout);

  const auto steps_at = [&](double elapsed) {
    const double done = std::min(work, before + elapsed * speed);
    return work > 0 ? (long long)(std::floor(done / work * double(options.steps) + 1e-9)) : options.steps;
  };
  long long printed = steps_at(0);
  std::uint64_t held = 0;
  for (double elapsed = 0;;) {
    const std::uint64_t wanted = curve.at(elapsed);
    const auto above = curve.first_above(elapsed, place.memory);
    bool fits = !(above && *above <= elapsed + 1e-9);
    if (fits && place.machine && wanted != held) fits = nvmlSimSetMemory(wanted) == NVML_SUCCESS;
    if (!fits) {
      // A rising curve has by now come near the limit; an allocator would hold that much when it fails.
      const std::uint64_t near = place.memory - std::min<std::uint64_t>(place.memory, 20u << 20);
      if (held < near && wanted >= near && wanted <= place.memory + (1u << 20)) {
        if (place.machine) nvmlSimSetMemory(near);
        held = near;
      }
      return say_out_of_memory(held, std::max(wanted, place.memory + (44u << 20)), place.memory), 1;
    }
    held = wanted;
    if (place.machine) {
      nvmlSimSlice_t slice;
      if (const nvmlReturn_t status = nvmlSimGetSlice(place.uuid.c_str(), &slice); status != NVML_SUCCESS)
        return io_error("CUDA error: the device is gone: {}", nvmlErrorString(status));
    }
    if (const long long steps = steps_at(elapsed); steps > printed) {
      printed = steps;
      fmt::print("step {}/{} {:.1f} % {:.2f} it/s\n", steps, options.steps,
                 100.0 * double(steps) / double(options.steps), rate);
      std::fflush(stdout);
    }
    if (elapsed >= length) return 0;
    if (options.fail_after_s >= 0 && elapsed >= options.fail_after_s)
      return io_error("RuntimeError: failed after {} s, as asked", options.fail_after_s);

    double next = length;
    if (rate > 0) next = std::min(next, (double(printed + 1) / double(options.steps) * work - before) / speed);
    if (const auto bend = curve.next_bend(elapsed)) next = std::min({next, *bend, elapsed + 1});
    if (above) next = std::min(next, *above);
    if (options.fail_after_s >= 0) next = std::min(next, options.fail_after_s);
    next = std::max(next, elapsed + 1e-6);
    place.sleep_until(began + std::uint64_t(std::ceil(next * 1e6 / scale - 1e-3)));
    if (checkpoint_wanted) {
      const double done = std::min(work, before + double(place.now() - began) / 1e6 * scale * speed);
      SMARTMIG_RETURN_IF_ERROR(write_file(options.checkpoint_file, fmt::format("{}{:.6f}\n", kCheckpointHead, done)));
      fmt::print("checkpoint at {:.1f} s of work\n", done);
      return int(options.checkpoint_exit);
    }
    // On a real clock the sleep may overshoot; what was planned counts, so that every step is met.
    elapsed = place.is_virtual ? std::max(next, double(place.now() - began) / 1e6) : next;
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  Arguments arguments;
  arguments.flag("--help", options.help)
      .option("--kind", options.kind)
      .option("--work-s", options.work_s)
      .option("--steps", options.steps)
      .option("--mem-curve", options.mem_curve)
      .option("--checkpoint-signal", options.checkpoint_signal)
      .option("--checkpoint-file", options.checkpoint_file)
      .option("--checkpoint-exit", options.checkpoint_exit)
      .option("--ignore-signal", options.ignore_signal)
      .option("--fail-after-s", options.fail_after_s)
      .option("--time-scale", options.time_scale)
      .option("--slice", options.slice);
  const auto rest = arguments.parse({argv + 1, argv + argc});
  if (!rest || (!rest->empty() && !options.help)) {
    fmt::print(stderr, "smartmig-emulated-job: {}\n",
               rest ? "unexpected argument " + rest->front() : rest.error().what);
    return 2;
  }
  if (options.help) return std::fputs(kHelp, stdout), 0;
  const auto result = run(options);
  std::fflush(stdout);
  nvmlSimUnregisterProcess();
  nvmlShutdown();
  if (result) return *result;
  fmt::print(stderr, "{}\n", result.error().what);
  return result.error().code == Error::kInvalid ? 2 : 1;
}
