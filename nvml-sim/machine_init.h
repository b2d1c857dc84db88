// The first state of a machine, and the files beside it: DIR/controller.lock for whoever controls the machine, DIR/dev
// with one file for each device node (opened by registered processes, so that a scan of /proc/*/fd names the holder),
// DIR/proc/driver/nvidia-caps/mig-minors as the driver prints it.
#pragma once
#include <string>
#include <string_view>

#include "store.h"

namespace smartmig::nvsim {

Result<std::uint32_t> clock_mode_named(std::string_view name);
std::string_view clock_mode_name(std::uint32_t mode);

// Power model of a board: "auto" falls back to a line from 15 % to 100 % of the board's nominal limit where nothing is
// measured.
Result<Ok> fill_state(State& state, const MachineSpec& spec);

void make_device_files(const std::string& directory);

// Names below DIR/dev: the board's node, and the capability nodes of a GPU instance and of a compute instance.
std::string board_node(int gpu);
std::string gpu_instance_node(int gpu, unsigned gpu_instance);
std::string compute_instance_node(int gpu, unsigned gpu_instance, unsigned compute_instance);
// The minor numbers of those capabilities. A board has this many of them, used or not.
int gpu_instance_minor(int gpu, unsigned gpu_instance);
int compute_instance_minor(int gpu, unsigned gpu_instance, unsigned compute_instance);
inline constexpr int kConfigMinor = 1, kMonitorMinor = 2;
inline constexpr unsigned kInstanceIds = 15, kComputeInstanceIds = 8;  // of a board, of a GPU instance

std::string uuid_text(const std::uint64_t (&uuid)[2]);  // without its prefix
void draw_uuid(State& state, std::uint64_t (&uuid)[2]);

}  // namespace smartmig::nvsim
