// Memory of an emulated job over time: "0:500M,10:4G" means 500 MiB at the start, rising in a straight line to 4 GiB at
// second 10, level after the last point. Units: seconds since the job's process began, bytes. Immutable.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smartmig::nvsim {

Result<std::uint64_t> parse_bytes(std::string_view text);  // "500M", "1.5G", "4096K", "123"; powers of 1024

class MemoryCurve {
 public:
  static Result<MemoryCurve> parse(std::string_view text);

  std::uint64_t at(double seconds) const;
  // The first instant after `seconds` at which the curve bends; nullopt after the last point.
  std::optional<double> next_bend(double seconds) const;
  // The first instant at or after `seconds` with more than `limit` bytes.
  std::optional<double> first_above(double seconds, std::uint64_t limit) const;

 private:
  struct Point {
    double seconds;
    std::uint64_t bytes;
  };
  std::vector<Point> points_;  // increasing in time, at least one
};

}  // namespace smartmig::nvsim
