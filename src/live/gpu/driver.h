// MigDriver: the seam between this program and GPUs that can be cut into slices. Everything above it speaks of a
// GpuId, a PlacementId of the board's GpuModel and an Instance; everything below is NVML, MPS or memory. Why an
// Instance is not a Placement: the abstract place outlives the living slice, whose UUID changes at each re-creation.
// Invariants: create() and destroy() return only after the device was read back; a driver never changes MIG mode,
// resets a board or touches an instance that it did not make unless it was opened with leave to do so. Units: MiB, W,
// J. Thread rule: one call at a time for each GPU, different GPUs in parallel; inventory(), processes() and environment()
// at any time, also while a GPU is being changed. WatchedDriver and GpuLanes give each GPU a thread of its own.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/ids.h"
#include "mig/gpu_model.h"

namespace smartmig {

struct ComputePart {
  int id = -1, slices = 0;
  std::string uuid;
};

struct Instance {
  PlacementId placement = kNoPlacement;
  int gpu_instance = -1;
  int compute_instance = -1;       // -1: a GPU instance without one, a leftover on which nothing can run
  std::string uuid;                // "MIG-..."; empty for a leftover; of the first part where it is divided
  std::vector<ComputePart> parts;  // its compute instances by id, where they are other than one that spans it
  int memory_mib = 0, used_mib = 0;
  bool ours = false;  // made under this driver's state directory, or adopted
};

enum class MigMode : std::uint8_t { kUnsupported, kOff, kOn };

struct GpuBoard {
  int index = 0;  // as the driver counts; equal to GpuId
  std::string uuid, product, bus_id;
  std::string pci_id, pci_subsystem;      // device and vendor, packed: "0x20B010DE"; empty: unknown
  std::shared_ptr<const GpuModel> model;  // null where the catalogue has none
  MigMode mode = MigMode::kUnsupported, pending = MigMode::kUnsupported;
  int memory_mib = 0, used_mib = 0;
  std::vector<Instance> instances;  // by start; leftovers included
  Layout layout;                    // of the instances that can run something
  std::string trouble;              // why it cannot be partitioned; empty: it can
  bool lost = false;                // the trouble: it does not answer
  std::vector<std::string> notes;   // differences to the catalogue that do no harm
};

struct DeviceProcess {
  std::uint32_t pid = 0;
  int gpu_instance = -1;  // -1: on the whole board
  std::string name;
  int memory_mib = 0;
};

using Environment = std::vector<std::pair<std::string, std::string>>;

class MigDriver {
 public:
  virtual ~MigDriver() = default;
  virtual std::string name() const = 0;               // "nvml", "mps", "emulated"
  virtual std::string version() const { return ""; }  // of what lies below: NVIDIA's driver; empty: not known
  virtual bool isolated() const = 0;                  // false: slices share faults, caches and bandwidth

  virtual Result<std::vector<GpuBoard>> inventory() = 0;
  virtual Result<GpuBoard> read(GpuId gpu) = 0;
  virtual Result<Instance> create(GpuId gpu, PlacementId where) = 0;
  virtual Result<Ok> destroy(GpuId gpu, const Instance& instance) = 0;  // exactly that one: GI id and UUID must match
  // Other compute instances on a GPU instance that runs nothing: of these slices, or one that spans it where none are
  // given. What cannot be made leaves it as it was.
  virtual Result<Instance> divide(GpuId gpu, const Instance& instance, const std::vector<int>& slices);
  virtual Result<Ok> set_mig_mode(GpuId gpu, bool on) = 0;  // refused unless opened with leave
  // Off: gives the GPU up to another controller; on: takes it again. kBusy: another one has it.
  virtual Result<Ok> set_control(GpuId, bool) { return Ok{}; }
  virtual Result<double> energy(GpuId gpu) = 0;  // J since the kernel driver was loaded
  virtual Result<double> power(GpuId gpu) = 0;   // W of the whole board
  virtual Result<std::vector<DeviceProcess>> processes(GpuId gpu) = 0;
  virtual Result<Ok> health(GpuId gpu) = 0;
  // What a child of this user needs in its environment to run on that slice and no other.
  virtual Result<Environment> environment(GpuId gpu, const Instance& instance, std::uint32_t uid) = 0;
  // The nodes that such a child opens: a device fence lets these through and no other GPU's. Empty: not known, no fence.
  virtual std::vector<std::string> device_nodes(GpuId, const Instance&) { return {}; }
};

// "GPU 3 (NVIDIA H200)": how sentences name a board.
std::string title(const GpuBoard& board);
std::string slice_name(const GpuModel& model, PlacementId p);  // "3g.20gb@4"

// Sorts the instances by start and folds them into `layout`; sets `trouble` where they are no layout of the model.
void fold_instances(GpuBoard& board);

// They hold a context to read counters, and start no work: NVIDIA's monitors, as the kernel names them (15 characters).
bool is_monitor(std::string_view process_name);
// The slices on which a process runs; a process on the whole board makes all of them busy.
Layout busy_layout(const GpuBoard& board, const std::vector<DeviceProcess>& processes);
// The slices that somebody else made.
Layout foreign_layout(const GpuBoard& board);
const Instance* find_instance(const GpuBoard& board, PlacementId p);

}  // namespace smartmig
