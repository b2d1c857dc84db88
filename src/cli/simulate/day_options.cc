#include "cli/simulate/day_options.h"

#include <algorithm>

#include "cli/failure.h"
#include "cli/simulate/load_flags.h"
#include "cli/time_words.h"
#include "eval/seeds.h"
#include "sim/workload_windows.h"

namespace smartmig::cli {

using Days = std::vector<std::uint64_t>;

void DayOptions::declare(Command& command) {
  command.heading("Workload");
  command.option("--window", window, "D",
                 "for a file: length of the windows that are used as days, such as 14d or 6h (default: 1d)");
  command.option("--windows", windows, "LIST",
                 use == Use::kReport
                     ? "for a file: the windows to use, such as 0-6 (default: those that begin in the second half)"
                     : "for a file: the windows to use, such as 0-6 (default: those that end in the first half)");
  command.heading("");
}

Result<Days> DayOptions::choose(Setting& setting) const {
  return is_workload_spec(setting.workload) ? choose_seeds() : choose_windows(setting);
}

Result<Days> DayOptions::choose_seeds() const {
  if (!window.empty() || !windows.empty())
    return invalid("--window and --windows are for files; for a generator use --days or --seeds");
  const bool report = use == Use::kReport;
  if (seeds.empty()) return seeds_from(report ? kFirstReportSeed : kFirstTrainingSeed, std::size_t(days));
  SMARTMIG_TRY(Days list, parse_seeds(seeds));
  for (const std::uint64_t seed : list)
    if (!report && (seed < kFirstTrainingSeed || seed > kLastTrainingSeed))
      return invalid("seed {} is not for {}; use {} to {}", seed, use == Use::kTuning ? "tuning" : "searching",
                     kFirstTrainingSeed, kLastTrainingSeed);
  return list;
}

Result<Days> DayOptions::choose_windows(Setting& setting) const {
  if (!seeds.empty()) return invalid("--seeds is for generators; {} is a file, so use --windows", setting.workload);
  SMARTMIG_TRY(const Time length, read_duration(window.empty() ? "1d" : window, std::chrono::hours(24)));
  TraceReading reading;
  LoadOptions load = setting.load;
  load.reading = &reading;
  auto workload = load_workload(setting.workload, load);
  if (!workload) return of_file(workload.error());
  print_warnings(reading);
  SMARTMIG_TRY(WorkloadWindows cut, WorkloadWindows::cut(std::move(*workload), length));
  const bool report = use == Use::kReport;
  Days list = report ? cut.held_out() : cut.training();
  if (!windows.empty()) {
    SMARTMIG_TRY(list, parse_seeds(windows));
    for (const std::uint64_t number : list) {
      SMARTMIG_RETURN_IF_ERROR(cut.window(number));
      const auto& training = cut.training();
      if (!report && std::find(training.begin(), training.end(), number) == training.end())
        return invalid(
            "window {} of {} is not for training, because it ends after the first half of the file's "
            "time",
            number, setting.workload);
    }
  } else if (days > 0 && list.size() > std::size_t(days)) {
    list.resize(std::size_t(days));
  }
  if (list.empty())
    return invalid("no window of {} with jobs lies within the {} half of {}; give another --window",
                   cut.length_in_words(), report ? "second" : "first", setting.workload);
  setting.windows = std::make_shared<const WorkloadWindows>(std::move(cut));
  return list;
}

}  // namespace smartmig::cli
