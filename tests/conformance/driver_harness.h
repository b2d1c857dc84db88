// What the conformance suite needs of a driver beside the driver itself: a world in which processes run on slices,
// others make instances by hand, and things break. One harness for the machine in memory, one for NVML on the emulated
// library.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>

#include "live/gpu/driver.h"
#include "support/temp_dir.h"

namespace smartmig::conformance {

// Every way of breaking; a harness may know it or not.
enum class Trouble {
  kInUseLag,
  kLeakedHandle,
  kCreateRefused,
  kComputeRefused,
  kLeftover,
  kLost,
  kHang,
  kWrongReadBack,
  kCreateLies,
  kDestroyLies,
  kSlow
};
inline constexpr Trouble kTroubles[] = {Trouble::kInUseLag,       Trouble::kLeakedHandle,  Trouble::kCreateRefused,
                                        Trouble::kComputeRefused, Trouble::kLeftover,      Trouble::kLost,
                                        Trouble::kHang,           Trouble::kWrongReadBack, Trouble::kCreateLies,
                                        Trouble::kDestroyLies,    Trouble::kSlow};
inline const char* name_of(Trouble t) {
  constexpr const char* kNames[] = {"in-use lag",
                                    "leaked handle",
                                    "create refused",
                                    "compute instance refused",
                                    "leftover",
                                    "lost",
                                    "hang",
                                    "wrong read-back",
                                    "create lies",
                                    "destroy lies",
                                    "slow"};
  return kNames[int(t)];
}

struct Opening {
  bool adopt = false, allow_mode_change = false;
};

class Harness {
 public:
  virtual ~Harness() = default;
  virtual std::string name() const = 0;
  virtual void open(Opening opening = {}) = 0;  // again: a new start of the program on the same machine
  virtual void close() = 0;
  virtual MigDriver& driver() = 0;
  virtual std::string state_dir() const = 0;
  virtual std::uint32_t run_process(GpuId gpu, const Instance& instance) = 0;  // pid
  virtual void end_process(std::uint32_t pid) = 0;
  virtual void create_by_hand(GpuId gpu, PlacementId where) = 0;
  virtual bool inject(Trouble trouble, GpuId gpu, int count) = 0;  // false: not known here; count 0: until cleared
  virtual void clear_troubles() = 0;
};

using Factory = std::function<std::unique_ptr<Harness>(const std::string& spec)>;
std::unique_ptr<Harness> make_fake_harness(const std::string& spec);
std::unique_ptr<Harness> make_sim_harness(const std::string& spec);

}  // namespace smartmig::conformance
