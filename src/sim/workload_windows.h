// Cuts a recorded workload into windows of equal length: the paired days of an experiment on a file.
//
// The file's time runs from the midnight (a multiple of 24 h) before its first submit to the one after its last; for a
// file shorter than a day, from full hour to full hour. Windows are numbered from 0. A window holds the jobs submitted
// in it; its begin is their time 0, its length their span (Workload::days). Jobs that still ran at its begin are not
// part of it. Windows without jobs are dropped, and so is a last window that the file covers by less than half.
//
// Nothing is judged on its training data: windows that end within the first half of the file's time are for search and
// tuning, those that begin in the second half are held out for reports. The halves do not depend on the length. A
// window across the middle serves reports if no other does (a file of one window).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "model/workload.h"

namespace smartmig {

class WorkloadWindows {
 public:
  static Result<WorkloadWindows> cut(Workload workload, Time length);

  Time length() const { return length_; }
  std::string length_in_words() const;  // "14 d", "6 h", "10 min"
  std::vector<std::uint64_t> all() const;
  const std::vector<std::uint64_t>& training() const { return training_; }
  const std::vector<std::uint64_t>& held_out() const { return held_out_; }

  // The error lists the existing windows.
  Result<Workload> window(std::uint64_t number) const;

 private:
  struct Window {
    std::uint64_t number;
    std::size_t first, last;  // jobs [first, last)
  };
  Workload whole_;
  Time length_{}, origin_{};
  std::vector<Window> windows_;
  std::vector<std::uint64_t> training_, held_out_;
};

}  // namespace smartmig
