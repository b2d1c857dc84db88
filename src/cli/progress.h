// A progress bar with the remaining time. It appears only on a terminal, never on a pipe. Thread-safe.
#pragma once
#include <chrono>
#include <mutex>
#include <string>

namespace smartmig::cli {

class Progress {
 public:
  explicit Progress(std::string label);
  ~Progress();             // clears the line
  void set(double share);  // 0..1

 private:
  std::string label_;
  bool terminal_;
  std::chrono::steady_clock::time_point begin_, last_;
  std::mutex mutex_;
};

}  // namespace smartmig::cli
