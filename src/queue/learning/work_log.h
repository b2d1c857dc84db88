// A running job's reported progress (memory/work_words.h): in its command's options, and in the lines it has printed
// since last asked. Of a long output the last kMost bytes are read; a log that was begun again is read from its
// beginning. Thread rule: the owner's.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "memory/work_words.h"

namespace smartmig {

class WorkLog {
 public:
  static constexpr std::size_t kMost = 64 * 1024;

  void set_command(const std::vector<std::string>& command);  // "--max-steps 200" and "--max-steps=200"
  // Told so far, with the largest size since the last call. No such file: nothing new.
  const WorkWords& read(const std::string& path);

 private:
  void take(std::string_view text);

  WorkWords told_, fresh_;
  std::string rest_;  // of a line that has no end yet
  std::uint64_t at_ = 0;
};

}  // namespace smartmig
