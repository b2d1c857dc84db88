// Results of finished parts of an experiment, kept in a directory so that a run that was stopped goes on where it was. A
// file is named after the part and a hash of what its figures depend on: its settings and the program (whoever calls gives
// words for it that change with its code). A file that cannot be read is made anew. Files appear whole or not at all.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "research/papers/paper_report.h"

namespace smartmig {

class KeptParts {
 public:
  // An empty directory keeps nothing; one that is missing is made with the first result.
  KeptParts(std::string directory, std::string program)
      : directory_(std::move(directory)), program_(std::move(program)) {}
  std::optional<std::vector<PaperSection>> find(const PaperPart& part) const;
  Result<Ok> keep(const PaperPart& part, const std::vector<PaperSection>& sections) const;

 private:
  std::string path_of(const PaperPart& part) const;
  std::string directory_, program_;
};

}  // namespace smartmig
