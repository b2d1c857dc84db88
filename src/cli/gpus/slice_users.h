// The programs that use the slices of an exercise (live/gpu/exercise.h): on a real machine, a process of this program
// that computes with the NVIDIA driver's library (slice_probe.cc); on an emulated machine, a stand-in.
#pragma once
#include <sys/types.h>

#include <memory>

#include "live/emulation/sim_library.h"
#include "live/gpu/exercise.h"

namespace smartmig::cli {

class ProbeUser : public SliceUser {
 public:
  ~ProbeUser() override { stop(); }
  Result<Ok> start(const Instance& instance, const Environment& environment) override;
  Result<Seen> look() override;
  void stop() override;

 private:
  Result<std::string> line();  // the next one that it prints
  pid_t child_ = -1;
  int words_ = -1, end_ = -1;  // what it prints; closed to end it
  std::string rest_;
  Seen seen_;
};

class StandInUser : public SliceUser {
 public:
  explicit StandInUser(std::shared_ptr<SimLibrary> sim) : sim_(std::move(sim)) {}
  ~StandInUser() override { stop(); }
  Result<Ok> start(const Instance& instance, const Environment& environment) override;
  Result<Seen> look() override;
  void stop() override;

 private:
  std::shared_ptr<SimLibrary> sim_;
  std::string uuid_;  // empty: none stands
};

}  // namespace smartmig::cli
