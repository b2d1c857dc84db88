// Fits the speed and power tables to measured runs. A run is a kind, a profile of a GPU model, seconds and joules, and
// an amount of work. Runs of one kind with comparable work share a `task` (the same command line; or any, if the work
// is given as a number).
//   time    seconds = launch + work / (pace of the task * speed of the profile): medians of logarithms, alternately for
//           tasks and profiles; speeds never fall as compute slices grow; launch if runs of unequal work reveal it
//   energy  joules above idle = watts * seconds, least squares for each (kind, profile)
// The error is that of leave-one-out predictions: each run from the others, with the present tables and with the fitted
// ones. Units: seconds, joules, watts, MiB. Pure, deterministic, no state.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "mig/gpu_model.h"

namespace smartmig {

struct MeasuredRun {
  std::string kind, gpu, profile, task;
  double seconds = 0;
  double joules = -1;  // attributed: above idle; negative: unknown
  double work = 1;     // in the task's unit
  int mem_mib = -1;    // peak
  double share = 1;    // share of what a board draws beyond idle as soon as anything runs on it; 1: alone there
};
// CSV: kind,gpu,profile,seconds, and if known joules,work,task,mem_mib,share. The error names file, line and column.
Result<std::vector<MeasuredRun>> read_measured_runs(LineReader lines);

struct ErrorFigures {
  std::size_t runs = 0;      // runs with a prediction
  double mean = 0, p90 = 0;  // of |predicted - measured| / measured
};
ErrorFigures error_figures(std::vector<double> errors);

struct ProfileFit {
  std::string profile;
  int compute_slices = 0, runs = 0;
  double speed = 1;                           // relative to the largest profile seen
  double watts = -1;                          // above idle; negative: no joules given
  double share = 1;                           // mean over the runs with joules
  double table_speed = -1, table_watts = -1;  // of the present tables; negative: none
};
struct KindFit {
  std::string kind, gpu;
  double launch_s = 0;
  bool launch_known = false;  // otherwise the runs cannot distinguish launch from work
  int mem_mib = -1;
  bool in_table = false;             // the speed table has the kind on this GPU
  std::vector<ProfileFit> profiles;  // by increasing size
};
struct Calibration {
  std::vector<KindFit> kinds;  // by name, then GPU
  ErrorFigures time_before, time_after, energy_before, energy_after;
  std::vector<std::string> notes;
};
// `power`: the name of the power model, as in --power. kInvalid if a run names an unknown GPU or profile.
Result<Calibration> calibrate(const std::vector<MeasuredRun>& runs, const std::string& power);

// Rows of the two tables, with `source` in the last column. Speeds keep the scale of the present table if it has the
// kind, so GPU models stay comparable. Power rows require a power model that knows kinds.
std::string speed_rows(const Calibration& calibration, const std::string& source);
Result<std::string> power_rows(const Calibration& calibration, const std::string& power, const std::string& source);

std::string csv_field(std::string_view text);  // quoted if necessary

}  // namespace smartmig
