// The joules of each board, and their attribution to jobs. Samples of a board (its energy counter, its power) make
// intervals; the energy of an interval above idle is attributed to the jobs that ran within it, by the model's weights
// times the seconds each ran. It is an attribution, not a measurement: a board has one counter.
//
//   energy of an interval   counter        difference of the board's counter
//                           power_integral mean of the two powers x time, where the counter could not be read
//                           model          the power model's watts x time, where neither could
//   idle                    idle watts x time, at most what was measured; kept apart
//   jobs                    the rest, in proportion to weight x seconds (Cluster's weights: the watts that a job adds,
//                           else its compute slices)
//   unattributed            what no job can be charged for, with a sentence: the counter went back (driver reload), it
//                           jumped, samples were missed for longer than `gap`, or nothing of ours ran
// Invariant: jobs + idle + unattributed = what was booked, to rounding, and what was booked = the counter's difference
// wherever the counter could be read at both ends, also over times when it could not be read between: the difference to
// what was booked meanwhile is settled (as unattributed, of either sign) when it is back.
//
// A restart: state() goes to the store with the jobs' rows; restore() continues from it, so energy used while the
// daemon was down goes to the jobs that ran meanwhile (tell ended() of those that have ended), else to unattributed.
// Units: joules, watts. Thread rule: one thread.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace smartmig {

enum class EnergySource : std::uint8_t { kCounter, kPowerIntegral, kModel };
inline constexpr int kEnergySources = 3;
const char* name_of(EnergySource source);  // "counter", "power_integral", "model"

struct EnergySample {
  UnixTime at{};
  std::optional<double> counter_j;  // nothing: could not be read
  std::optional<double> power_w;
  double model_w = 0;  // what the model says of the interval that ends here
};

// What one sample has settled.
struct EnergyInterval {
  EnergySource source = EnergySource::kCounter;
  double joules = 0, idle_j = 0, unattributed_j = 0;
  std::vector<std::pair<std::uint64_t, double>> jobs;  // id and joules, by id
  std::string words;                                   // why something is unattributed; empty: as usual
};

struct EnergyTotals {
  double by_source_j[kEnergySources] = {};
  double jobs_j = 0, idle_j = 0, unattributed_j = 0;
  double booked_j() const { return by_source_j[0] + by_source_j[1] + by_source_j[2]; }
};

class BoardMeter {
 public:
  struct Options {
    double idle_w = 0;
    double most_w = 2000;  // no board draws more: a counter that says so has jumped
    Time gap = Time(60'000'000);
  };
  explicit BoardMeter(Options options) : options_(options) {}

  void started(std::uint64_t job, double weight, UnixTime at);
  void ended(std::uint64_t job, UnixTime at);  // unknown jobs are ignored
  EnergyInterval sample(const EnergySample& sample);
  const EnergyTotals& totals() const { return totals_; }

 private:
  friend class EnergyMeter;
  struct Run {
    double weight = 0;
    UnixTime since{};
    std::optional<UnixTime> until;
  };
  double booked_without_counter(const EnergySample& sample, double dt, EnergySource& source) const;
  void share_out(EnergyInterval& interval, UnixTime from, UnixTime to, bool attribute);
  void forget_ended(UnixTime at);

  Options options_;
  bool begun_ = false, restored_ = false;
  UnixTime last_{};
  std::optional<double> counter_, power_;  // counter_: when it was last read
  UnixTime counter_at_{};
  double provisional_j_ = 0;  // booked since the counter was last read
  std::map<std::uint64_t, Run> runs_;
  EnergyTotals totals_;
};

// The boards of a machine by UUID.
class EnergyMeter {
 public:
  BoardMeter& board(const std::string& uuid, BoardMeter::Options options);  // made when new; options apply from now on
  const std::map<std::string, BoardMeter>& boards() const { return boards_; }
  EnergyTotals totals() const;
  void clock_stepped(Time by);  // samples and runs keep their distance from now
  std::string state() const;    // one line of JSON
  // kInvalid: says what is wrong with the text; the meter is unchanged.
  Result<Ok> restore(std::string_view text);

 private:
  std::map<std::string, BoardMeter> boards_;
};

}  // namespace smartmig
