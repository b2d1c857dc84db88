// Measures how fast a program works from its output: rates ("12.3 it/s", "1.4 s/it", "980 samples/s"), else counts of
// steps ("step 12/100"), else nothing (the caller then uses wall time). A custom pattern has one group, a rate, or two,
// a count and its total. Rates: the median of the last two thirds, since programs warm up. Counts: from the first to
// the last, by their instants, which excludes launch and warm-up.
// Lines end with a newline or a carriage return (progress bars). Only the first 2 KiB of a line are read, so no output
// costs more than its bytes. Thread rule: one thread.
#pragma once
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smartmig {

class ProgressMeter {
 public:
  // `pattern`: an ECMAScript regular expression; empty: the known forms.
  static Result<ProgressMeter> make(const std::string& pattern);

  void feed(double at_s, std::string_view piece);  // at_s: of any clock that does not run backwards
  void finish(double at_s);                        // takes what was printed without a line end

  struct Speed {
    double per_s = 0;
    std::string unit;  // "it/s", "steps/s", "samples/s"
    std::size_t readings = 0;
    std::optional<double> total;  // steps of the whole run, if the program says
  };
  std::optional<Speed> speed() const;

 private:
  ProgressMeter() = default;
  void line(double at_s);
  struct Form {
    std::regex pattern;
    bool inverse = false, counts = false;
    std::string unit;  // empty: the second group gives the unit
  };
  struct Readings {
    std::string unit;
    std::vector<double> rates;
    double first_s = 0, first_count = 0, last_s = 0, last_count = 0, total = 0;
    std::size_t counts = 0;
  };
  std::vector<Form> forms_;
  std::vector<Readings> readings_;  // by form
  std::string line_;
};

}  // namespace smartmig
