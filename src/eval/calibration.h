// Fits the speed and power tables to what jobs took. A run is: a kind, on a profile of a GPU model, so many seconds and
// joules, for so much work. Runs of one kind whose work can be compared share a `task` (the same command line; or
// any, where the work is given as a number).
//   time    seconds = launch + work / (pace of the task * speed of the profile): medians in logarithms, in turn for
//           tasks and profiles; speeds never fall as compute slices grow; launch where runs of unequal work tell it
//   energy  joules above idle = watts * seconds, least squares for each (kind, profile)
// The error is that of leave-one-out predictions: each run from the others, with the tables as they are and as fitted.
// Units: seconds, joules, watts, MiB. Pure, deterministic, no state.
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
  double joules = -1;  // attributed: above idle; negative: not known
  double work = 1;     // in units of its task
  int mem_mib = -1;    // peak
  double share = 1;    // of what a board draws beyond idle as soon as anything runs on it; 1: it was alone there
};
// CSV: kind,gpu,profile,seconds, and where known joules,work,task,mem_mib,share. The error names file, line and column.
Result<std::vector<MeasuredRun>> read_measured_runs(LineReader lines);

struct ErrorFigures {
  std::size_t runs = 0;      // that could be predicted
  double mean = 0, p90 = 0;  // of |predicted - measured| / measured
};
ErrorFigures error_figures(std::vector<double> errors);

struct ProfileFit {
  std::string profile;
  int compute_slices = 0, runs = 0;
  double speed = 1;                           // relative to the largest profile seen
  double watts = -1;                          // above idle; negative: no joules were given
  double share = 1;                           // mean over the runs that gave joules
  double table_speed = -1, table_watts = -1;  // of the tables in force, likewise; negative: none
};
struct KindFit {
  std::string kind, gpu;
  double launch_s = 0;
  bool launch_known = false;  // else the runs cannot tell it from work
  int mem_mib = -1;
  bool in_table = false;             // the speed table has the kind on this GPU
  std::vector<ProfileFit> profiles;  // smallest first
};
struct Calibration {
  std::vector<KindFit> kinds;  // by name and GPU
  ErrorFigures time_before, time_after, energy_before, energy_after;
  std::vector<std::string> notes;
};
// `power`: name of the power model, as --power takes it. kInvalid where a run names an unknown GPU or profile.
Result<Calibration> calibrate(const std::vector<MeasuredRun>& runs, const std::string& power);

// Rows of the two tables. `source` stands in the last column. Speeds keep the scale of the table in force where it has
// the kind, so that GPU models stay comparable. Power rows need a power model that knows kinds.
std::string speed_rows(const Calibration& calibration, const std::string& source);
Result<std::string> power_rows(const Calibration& calibration, const std::string& power, const std::string& source);

std::string csv_field(std::string_view text);  // quoted where it must be

}  // namespace smartmig
