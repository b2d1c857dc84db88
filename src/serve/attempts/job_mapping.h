// Files for dcgm-exporter's --hpc-job-mapping-dir: one for each busy slice, named "<gpu>.<gpu instance>" (or "<gpu>"
// for a whole GPU), with the job's id. The exporter then puts the job on its own figures. Each file appears whole and
// goes when the slice is idle; what an earlier daemon left is removed at the start. Files of other names are never
// touched. Thread rule: one thread.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"

namespace smartmig {

class JobMapping {
 public:
  static Result<JobMapping> open(const std::string& directory);  // made if it is missing
  using Slice = std::pair<int, int>;                             // (GPU index, GPU instance id; -1: the whole GPU)
  // The busy slices now. Writes what changed only. An error names the file; the rest is still brought up to date.
  Result<Ok> set(const std::map<Slice, std::uint64_t>& jobs);

 private:
  explicit JobMapping(std::string directory) : directory_(std::move(directory)) {}
  std::string file_of(Slice slice) const;
  std::string directory_;
  std::map<Slice, std::uint64_t> written_;
};

}  // namespace smartmig
