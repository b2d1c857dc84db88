// Records which job has which slice of this node, as one small file per job in a directory that the engine's scripts
// read (deploy/slurm). The agent writes NUMBER.env before the job is released, TaskProlog passes its lines to the
// tasks, and Epilog renames it to NUMBER.ended. NUMBER.fenced exists once the job's cgroup is closed to other slices
// (device_fence.h). So the scripts do not need a running agent, and a restarted agent reads its whole state from the
// directory. Invariant: a slice has at most one job that has not ended. One owner.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "live/gpu/driver.h"

namespace smartmig {

struct SliceHolder {
  int gpu = -1;
  std::string slice;               // "3g.20gb@4"
  std::string device;              // UUID
  std::vector<std::string> files;  // device files of the slice
  bool ended = false;
};

class SliceBook {
 public:
  static Result<SliceBook> open(std::string folder);  // made where there is none

  void look();  // what has Epilog marked since
  const std::map<std::uint32_t, SliceHolder>& jobs() const { return jobs_; }
  std::optional<std::uint32_t> holder(int gpu, const std::string& slice) const;  // that has not ended

  // Durable when it returns. kBusy: another job has the slice. A job that had another one has this one now.
  Result<Ok> give(std::uint32_t job, int gpu, const std::string& slice, const std::string& device,
                  const Environment& environment);
  Result<Ok> forget(std::uint32_t job);
  Result<Ok> fenced(std::uint32_t job);

 private:
  explicit SliceBook(std::string folder) : folder_(std::move(folder)) {}
  std::string path(std::uint32_t job, const char* suffix) const;
  std::string folder_;
  std::map<std::uint32_t, SliceHolder> jobs_;
};

// One line NAME=VALUE each; the reader of what a file holds. Nothing: it names no slice.
std::optional<SliceHolder> parse_slice_file(std::string_view text);

}  // namespace smartmig
