// What an exercise of a GPU has shown (exercise.h), as one file that its operator can send to the project, and as a
// table. It holds models, profiles, seconds and watts; sentences lose their UUIDs, pids, process names and paths.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace smartmig {

struct ExerciseCheck {
  enum What { kGeometry, kUse, kSeconds, kWatts, kReshape, kRestore } what = kGeometry;
  std::string subject;  // "3g.20gb@4"
  bool agrees = true;
  std::string words;  // of what does not
};
const char* name_of(ExerciseCheck::What what);

struct ExerciseProfile {
  std::string name;
  int placements = 0, worked = 0;  // worked: made, used and destroyed
  int sms = 0, table_sms = 0, memory_mib = 0, table_memory_mib = 0;
  std::vector<double> create_s, destroy_s;  // of each placement
  double table_create_s = 0, table_destroy_s = 0;
  std::optional<double> watts;  // of the whole board while one such slice is used
  double table_watts = 0;
};

struct ExerciseReport {
  std::string version, model, product, driver, driver_version;
  std::string power_table;   // of the watts
  bool rough_watts = false;  // that table was not measured
  std::optional<double> idle_watts;
  double table_idle_watts = 0;
  std::vector<ExerciseProfile> profiles;
  int layouts = 0, layouts_reached = 0;
  std::string beside;      // the slice in use; empty: none has a neighbour
  int beside_changes = 0;  // reshapes around it
  bool finished = false, restored = false;
  std::vector<ExerciseCheck> checks;

  void check(ExerciseCheck::What what, std::string subject, bool agrees, std::string_view words);
  int disagreements() const;
};

double median_or_zero(std::vector<double> values);  // 0: there are none
std::string without_names(std::string_view sentence);
Json to_json(const ExerciseReport& report);
std::string to_text(const ExerciseReport& report);

}  // namespace smartmig
