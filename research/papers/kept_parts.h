// Keeps results of finished parts of an experiment in a directory, so that a stopped run can continue. A file's name
// consists of the part and a hash of all that its figures depend on: its settings and the program (the caller gives a
// text that changes with its code). An unreadable file is made again. Files appear whole or not at all.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "research/papers/paper_report.h"

namespace smartmig {

class KeptParts {
 public:
  // An empty directory keeps nothing. A missing directory is made with the first result.
  KeptParts(std::string directory, std::string program)
      : directory_(std::move(directory)), program_(std::move(program)) {}
  std::optional<std::vector<PaperSection>> find(const PaperPart& part) const;
  Result<Ok> keep(const PaperPart& part, const std::vector<PaperSection>& sections) const;

 private:
  std::string path_of(const PaperPart& part) const;
  std::string directory_, program_;
};

}  // namespace smartmig
