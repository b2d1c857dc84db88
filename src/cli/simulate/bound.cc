#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/file.h"
#include "bound/certificate_make.h"
#include "bound/checker.h"
#include "cli/simulate/run_options.h"
#include "cli/verbs.h"

namespace smartmig::cli {
namespace {

struct BoundOptions : RunOptions {
  std::string objective = "et", out, check;
  double effort = 1;
  BoundWorld world = BoundWorld::kFree;  // from `cost`
  bool json = false;
};

// The share done, the time and the bound so far, on a terminal only.
class BoundLine {
 public:
  ~BoundLine() {
    if (terminal_) fmt::print(stderr, "\r\033[K");
  }
  void set(double share, double bound) {
    const auto now = std::chrono::steady_clock::now();
    if (!terminal_ || now - last_ < std::chrono::milliseconds(200)) return;
    last_ = now;
    fmt::print(stderr, "\r\033[Kbound {:3.0f} %  {:.0f} s  {:.6g}", 100 * share,
               std::chrono::duration<double>(now - begin_).count(), bound);
    std::fflush(stderr);
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO);
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now(), last_ = begin_;
};

const char* unit_of(Objective objective) {
  return objective == Objective::kEt       ? "a e + t"
         : objective == Objective::kEnergy ? "watt-minutes"
                                           : "minutes of mean tardiness";
}

// For which schedules: all, or those of the hardware cost model alone.
const char* words_of(BoundWorld world) {
  return world == BoundWorld::kFree ? "no schedule of" : "no schedule under hardware costs of";
}

std::string result_json(const Certificate& c, double bound, double seconds, bool checked) {
  return fmt::format(
      "{{\"world\":\"{}\",\"objective\":\"{}\",\"a\":{},\"bound\":{},\"unit\":\"{}\",\"jobs\":{},\"windows\":{},\"workload_hash\":\"{:"
      "016x}\",\"{}\":{:.3f}}}\n",
      name_of(c.world), name_of(c.objective), c.a, bound, unit_of(c.objective), c.jobs, c.prices.windows.count(),
      c.workload_hash, checked ? "check_s" : "wall_s", seconds);
}

Result<JobTable> load_jobs(const BoundOptions& options, const Platform& platform) {
  SMARTMIG_TRY(const LoadOptions load, options.LoadFlags::options());
  SMARTMIG_TRY(Workload workload, load_workload(options.workload, load));
  return JobTable::bind(std::make_shared<Workload>(std::move(workload)), platform);
}

// The certificate says what it is about; what the command line says beside it must agree.
Result<Ok> agrees(const Command& command, const BoundOptions& options, const Certificate& certificate) {
  const auto contradiction = [&](const char* option, const auto& given, const auto& written) {
    return invalid(
        "{} is for {} {}, but the command line says {}; leave out the option or give the "
        "certificate's value",
        options.check, option, written, given);
  };
  if (command.given("--objective") && options.objective != name_of(certificate.objective))
    return contradiction("--objective", options.objective, name_of(certificate.objective));
  if (options.a && *options.a != certificate.a && certificate.objective == Objective::kEt)
    return contradiction("--a", *options.a, certificate.a);
  if (command.given("--cost") && options.world != certificate.world)
    return contradiction("--cost", options.cost, certificate.world == BoundWorld::kFree ? "paper" : "hardware");
  if (command.given("--gpus")) {
    SMARTMIG_TRY(const Platform given, Platform::parse(options.gpus));
    if (given.spec() != certificate.gpus) return contradiction("--gpus", given.spec(), certificate.gpus);
  }
  if (command.given("--power")) {
    SMARTMIG_TRY(const Platform given, Platform::parse(certificate.gpus, options.power));
    for (std::size_t m = 0; m < std::min(given.models().size(), certificate.power_models.size()); ++m)
      if (given.models()[m].power.name() != certificate.power_models[m])
        return contradiction("--power", given.models()[m].power.name(), certificate.power_models[m]);
  }
  return Ok{};
}

Result<Ok> check(const Command& command, const BoundOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  SMARTMIG_TRY(const std::string text, read_file(options.check));
  SMARTMIG_TRY(const Certificate certificate, parse_certificate(options.check, text));
  SMARTMIG_RETURN_IF_ERROR(agrees(command, options, certificate));
  const auto platform = Platform::parse(certificate.gpus, certificate.power);
  if (!platform) return invalid("{}: {}", options.check, platform.error().what);
  SMARTMIG_TRY(const JobTable jobs, load_jobs(options, *platform));
  const auto proven = check_certificate(certificate, *platform, jobs);
  if (!proven) return invalid("{}: {}", options.check, proven.error().what);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (options.json)
    fmt::print("{}", result_json(certificate, *proven, seconds, true));
  else
    fmt::print("{} holds: {} {} on {} has {} below {:.10g} (claimed {:.10g})\n", options.check,
               words_of(certificate.world), options.workload, certificate.gpus, unit_of(certificate.objective), *proven,
               certificate.bound);
  return Ok{};
}

// Then the schedules of hardware costs are those of free preemption, for all that a bound knows.
bool all_stop_for_nothing(const JobTable& jobs) {
  for (std::size_t j = 0; j < jobs.size(); ++j)
    if (jobs.job(JobId(j)).restart != Time{0}) return false;
  return true;
}

Result<Ok> prove(const BoundOptions& options, Objective objective, const Setting& setting) {
  const Platform& platform = *setting.platform;
  SMARTMIG_TRY(const JobTable jobs, load_jobs(options, platform));
  const double a = energy_weight(setting, jobs.workload());
  const auto begin = std::chrono::steady_clock::now();
  Certificate certificate;
  {
    BoundLine line;
    SMARTMIG_TRY(
        certificate,
        make_certificate(platform, jobs, objective, a,
                         {options.effort, [&](double share, double bound) { line.set(share, bound); }}, options.world));
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!options.out.empty()) SMARTMIG_RETURN_IF_ERROR(write_file(options.out, certificate_json(certificate)));
  if (options.json) {
    fmt::print("{}", result_json(certificate, certificate.bound, seconds, false));
    return Ok{};
  }
  fmt::print("{} {} ({} jobs) on {} has {} below {:.8g}", words_of(certificate.world), options.workload,
             certificate.jobs, platform.spec(), unit_of(objective), certificate.bound);
  if (objective == Objective::kEt) fmt::print(" (a = {:g}; ET {:.8g})", a, certificate.bound / (1 + a));
  if (objective == Objective::kEnergy) fmt::print(" ({:.6g} kWh)", kilowatt_hours(certificate.bound * 60));
  if (certificate.world == BoundWorld::kHardware && all_stop_for_nothing(jobs))
    fmt::print("\nEvery job resumes at no cost, so this is the bound for free preemption.");
  fmt::print("\n{} windows, {:.1f} s\n", certificate.prices.windows.count(), seconds);
  if (!options.out.empty())
    fmt::print("certificate in {}: smartmig bound --check {} -w {}\n", options.out, options.out, options.workload);
  return Ok{};
}

}  // namespace

int run_bound(const Arguments& arguments) {
  BoundOptions options;
  Command command(
      "bound", "",
      "Proves a lower bound that holds for every policy on this workload, and writes a certificate that can be checked.",
      "smartmig bound -w paper:20x,seed=7 --gpus 8xa100-40gb --objective et --a 2e-7 -o cert.json");
  command.option("--workload", options.workload, "SPEC|FILE", "jobs: a generator such as paper:20x,seed=7, or a file")
      .alias("-w");
  command.option("--gpus", options.gpus, "SPEC", "GPUs of the fleet, such as 8xa100-40gb or 4xa100-40gb,2xa30-24gb");
  command.option("--power", options.power, "NAME",
                 "power model: auto, paper, a100-sxm, a100-jobs, h200, h100-nvl, linear:IDLE:PER_SLICE:CAP");
  command.option(
      "--cost", options.cost, "MODEL",
      "paper: a bound for every schedule; hardware: a bound for schedules that stop only jobs with a restart cost");
  command.option("--restart", options.restart, "RULE",
                 "hardware costs: restart cost of jobs: none, table, or SECONDS for training jobs "
                 "(default: the workload's)");
  command.option("--objective", options.objective, "NAME",
                 "et (a e + t), energy (watt-minutes) or tardiness (mean in minutes)");
  command.option("--a", options.a, "A",
                 "weight of a watt-minute relative to a minute of mean tardiness (default: 2e-7 x 8 / (GPUs x days))");
  options.LoadFlags::declare(command);
  command.option("--effort", options.effort, "X",
                 "work to spend on a tight bound: 1 takes about 15 s for a day of 4,000 jobs");
  command.option("--output", options.out, "FILE", "write the certificate").alias("-o").also("--out");
  command.option(
      "--check", options.check, "FILE",
      "check this certificate: recompute its bound for the workload; the other options must be the same as when it was written");
  command.flag("--json", options.json, "print one JSON object");
  if (const auto end = command.ends(arguments)) return *end;
  const auto cost = CostModel::parse(options.cost);
  if (!cost) return usage_error(cost.error());
  options.world = bound_world(*cost);
  if (!options.check.empty()) {
    if (!options.out.empty()) return usage_error(invalid("give --check or -o, not both"));
    const auto checked = check(command, options);
    return checked ? 0 : failure(checked.error());
  }
  if (!(options.effort >= 0.01 && options.effort <= 1000))
    return usage_error(invalid("--effort {}: 0.01 to 1000", options.effort));
  const auto objective = parse_objective(options.objective);
  if (!objective) return usage_error(objective.error());
  const auto setting = options.setting();
  if (!setting) return usage_error(setting.error());
  const auto done = prove(options, *objective, *setting);
  return done ? 0 : failure(done.error());
}

}  // namespace smartmig::cli
