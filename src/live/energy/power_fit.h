// The watts of this machine's boards, fitted to their own energy counters while jobs run: idle watts, and a line over
// the busy compute slices. Readings are kept by GPU model, in one durable file; they replace rough figures (the form
// `board` of data/power.csv) once a day of them is there.
//
//   watts = idle_w when nothing runs, else min(cap_w, base_w + per_slice_w * busy compute slices)
//
// A reading is the difference of a counter over a time in which the same slices were busy. Readings with equal numbers
// of busy slices are summed, so the state is a few numbers a model. The line is the least-squares line through the mean
// watts of each number of busy slices, weighted by time, with a slope of at least 0; with one number alone it starts at
// the idle watts.
// Thread rule: one thread. Units: watts, joules, seconds.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace smartmig {

class PowerFit {
 public:
  static constexpr double kReadyS = 86'400;  // of readings, in all
  static constexpr double kReadyIdleS = 600, kReadyBusyS = 3600;

  static Result<PowerFit> open(std::string path);  // no file yet: empty; an empty path: kept in memory alone
  static Result<PowerFit> parse(std::string path, std::string_view text);

  // `cap_w`: the power limit that the board is believed to have; a reading above it raises it.
  void add(const std::string& model, int busy_slices, double length_s, double joules, double cap_w);

  struct Line {
    double idle_w = 0, base_w = 0, per_slice_w = 0, cap_w = 0;
    double observed_s = 0;
    bool ready = false;
    std::string power_name() const;  // as PowerModel::named takes it
  };
  // Nothing where no idle time or no busy time has been seen.
  std::optional<Line> line(const std::string& model) const;
  std::vector<std::string> models() const;

  std::string text() const;
  Result<Ok> save() const;

 private:
  struct Sum {
    double seconds = 0, joules = 0;
  };
  struct Readings {
    double cap_w = 0;
    std::map<int, Sum> by_slices;  // busy compute slices
  };
  std::string path_;
  std::map<std::string, Readings> models_;
};

}  // namespace smartmig
