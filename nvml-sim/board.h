// The facts of one GPU model as NVML tells them: the catalogue's geometry and the power model, and around them what the
// catalogue does not hold: engines, compute-instance profiles, clocks, the nominal power limit. Figures that are not in
// data/ come from NVIDIA's MIG user guide (engine counts, compute instances) and product briefs (limits, clocks).
// Where the catalogue leaves a field empty: the board's memory from the name of its whole profile, a profile's as its
// slices' part of the board's, SMs as 16 a compute slice, ids of the 7-slice family. Immutable.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mig/catalog.h"
#include "model/power.h"
#include "model/reconfig.h"

namespace smartmig::nvsim {

struct Engines {
  unsigned copy = 0, decoder = 0, encoder = 0, jpeg = 0, ofa = 0;
};

struct ComputeProfile {
  unsigned id = 0;  // also the constant of the profile-info call
  int slices = 0, sms = 0, max_instances = 0;
  std::vector<int> starts;
  std::string name;  // "1c.3g.20gb"; the GPU instance's own name for the whole of it
};

class Board {
 public:
  static Result<std::shared_ptr<const Board>> named(std::string_view model, std::string_view power);

  const std::string& name() const { return model_->name(); }
  const std::string& power_name() const { return power_.name(); }
  const GpuModel& model() const { return *model_; }
  const PowerModel& power() const { return power_; }
  const std::string& product() const { return model_->spec().products.front(); }
  unsigned pci_id() const;            // device id in the upper half, as nvmlPciInfo_t has it
  unsigned pci_subsystem_id() const;  // likewise; device id 0 where no listing of such a board is known
  double limit_watts() const;         // the board's power limit: the power model may stay below it
  bool ampere() const { return model_->spec().architecture == "Ampere"; }  // MIG mode needs a reset
  unsigned architecture() const;                                           // NVML_DEVICE_ARCH_*
  std::pair<int, int> compute_capability() const;
  unsigned memory_mib() const;
  unsigned sms() const;
  int whole_profile() const { return whole_; }  // the plain profile with all compute slices
  struct Clocks {
    unsigned sm_idle, sm_max, sm_applications, memory;  // MHz
  };
  Clocks clocks() const;

  const Profile& profile(int index) const { return model_->profiles()[std::size_t(index)]; }
  int profile_by_constant(unsigned constant) const;  // -1 if this model has none
  int profile_by_id(unsigned id) const;              // -1 likewise
  unsigned id_of(int profile) const;
  unsigned memory_mib(int profile) const;
  unsigned sms(int profile) const;
  Engines engines(int profile) const;
  std::vector<ComputeProfile> compute_profiles(int profile) const;
  // Ids 0; 1, 2; 3-6; 7-14 for instances of the whole, half, quarter and eighth of the board.
  int size_class(int profile) const;

 private:
  Board(std::shared_ptr<const GpuModel> model, PowerModel power);
  std::shared_ptr<const GpuModel> model_;
  PowerModel power_;
  int whole_ = 0;
};

}  // namespace smartmig::nvsim
