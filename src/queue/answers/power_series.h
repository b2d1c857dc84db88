// Joules of all boards by the minute, for the last day: what was drawn before somebody looked, and across restarts. A
// sample's joules count to the minute in which it ends. Stored as one named value, "power". Thread rule: the owner's.
#pragma once
#include <deque>
#include <string>

#include "base/units.h"

namespace smartmig {

class PowerSeries {
 public:
  static constexpr std::int64_t kMinutes = 24 * 60 + 60;  // a day, and an hour for days that are longer
  struct Point {
    std::int64_t minute = 0;  // since 1970
    double joules = 0;
    double covered_s = 0;  // of it: less than 60 where the daemon came or went
    double watts() const { return covered_s > 0 ? joules / covered_s : 0; }
  };

  // True: a minute is over, and text() has changed.
  bool add(UnixTime when, double joules);                      // of one board, at most a few seconds of it
  const std::deque<Point>& points() const { return points_; }  // by minute; the last one is not over yet

  void clock_stepped(Time by);  // by whole minutes
  std::string text() const;     // minutes that are over
  void load(const std::string& text);

 private:
  std::deque<Point> points_;
  double began_s_ = 0;  // seconds of the last minute before its first sample
};

}  // namespace smartmig
