#include "ctl_views.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "ctl_mounts.h"
#include "ctl_pci.h"
#include "driver_files.h"
#include "machine_init.h"

namespace smartmig::nvsim {
namespace {

constexpr int kBoardMajor = 195, kControlMinor = 255, kModesetMinor = 254;
constexpr std::string_view kPci = "/sys/bus/pci";

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// The numbers of the driver's kinds of device nodes, and /proc/devices that says so.
struct Majors {
  int capabilities = 0, memory = 0;  // nvidia-caps, nvidia-uvm
  bool real_driver = false;          // of the host: nodes with its numbers would open real boards
  std::string text;
};
Majors majors_beside(const std::string& devices) {
  Majors out;
  std::set<int> taken;
  bool characters = false;
  std::size_t end_of_characters = devices.size();
  std::size_t at = 0;
  for (const std::string_view line : split(devices, '\n')) {
    int major = 0;
    char name[64] = "";
    if (line.starts_with("Character")) characters = true;
    if (line.empty() && characters) {
      end_of_characters = at;
      characters = false;
    }
    if (std::sscanf(std::string(line).c_str(), "%d %63s", &major, name) == 2) {
      taken.insert(major);
      out.real_driver |= characters && std::string_view(name).starts_with("nvidia");
    }
    at += line.size() + 1;
  }
  out.real_driver |= taken.contains(kBoardMajor);
  const auto unused = [&] {
    int major = 511;
    while (taken.contains(major)) --major;
    return taken.insert(major), major;
  };
  out.capabilities = unused();
  out.memory = unused();
  out.text = devices;
  out.text.insert(end_of_characters, fmt::format("{0} nvidia\n{0} nvidiactl\n{1} nvidia-uvm\n{2} nvidia-caps\n",
                                                 kBoardMajor, out.memory, out.capabilities));
  return out;
}

class Views {
 public:
  explicit Views(Machine& machine) : m_(machine), directory_(machine.store().directory()) {}

  std::vector<std::string> show() {
    const auto devices = read_file("/proc/devices");
    const Majors majors = majors_beside(devices ? *devices : "Character devices:\n");
    try_to(driver_folders());
    if (devices && !majors.real_driver) try_to(text_at("/proc/devices", majors.text));
    if (const auto modules = read_file("/proc/modules"))
      try_to(text_at("/proc/modules", modules_with_driver(*modules)));
    try_to(pci_devices());
    try_to(device_nodes(majors));
    return std::move(missing_);
  }

 private:
  void try_to(const Result<Ok>& done) {
    if (!done) missing_.push_back(done.error().what);
  }

  Result<Ok> text_at(const std::string& place, const std::string& text) {
    const std::string source = directory_ + "/proc/" + std::filesystem::path(place).filename().string();
    SMARTMIG_RETURN_IF_ERROR(write_file(source, text));
    return show_at(source, place);
  }

  Result<Ok> driver_folders() {
    SMARTMIG_RETURN_IF_ERROR(cover_folder(
        "/proc/driver", [](const std::string& name) { return name != "nvidia" && name != "nvidia-caps"; }));
    for (const char* name : {"/nvidia", "/nvidia-caps"}) {
      const std::string place = std::string("/proc/driver") + name;
      ::mkdir(place.c_str(), 0755);
      SMARTMIG_RETURN_IF_ERROR(show_at(directory_ + place, place));
    }
    return Ok{};
  }

  Result<Ok> pci_devices() {
    const std::string devices = std::string(kPci) + "/devices", drivers = std::string(kPci) + "/drivers";
    if (!exists(devices)) {  // a host without a PCI bus
      SMARTMIG_RETURN_IF_ERROR(cover_folder("/sys/bus", [](const std::string& name) { return name != "pci"; }));
      std::error_code ignored;
      std::filesystem::create_directories(devices, ignored);
      std::filesystem::create_directories(drivers, ignored);
    } else {
      std::set<std::string> hidden;
      for (int gpu = 0; gpu < m_.gpu_count(); ++gpu) hidden.insert(pci_address(gpu));
      std::error_code ignored;
      for (const auto& entry : std::filesystem::directory_iterator(devices, ignored))
        if (const auto vendor = read_file(entry.path().string() + "/vendor"); vendor && vendor->starts_with("0x10de"))
          hidden.insert(entry.path().filename().string());
      SMARTMIG_RETURN_IF_ERROR(cover_folder(devices, [&](const std::string& name) { return !hidden.contains(name); }));
      SMARTMIG_RETURN_IF_ERROR(cover_folder(drivers, [](const std::string& name) { return name != "nvidia"; }));
    }
    const std::string driver = drivers + "/nvidia";
    ::mkdir(driver.c_str(), 0755);
    for (int gpu = 0; gpu < m_.gpu_count(); ++gpu) {
      const std::string address = pci_address(gpu), folder = devices + "/" + address;
      ::mkdir(folder.c_str(), 0755);
      for (const auto& [name, text] : pci_files(m_, gpu)) SMARTMIG_RETURN_IF_ERROR(put_file(folder + "/" + name, text));
      if (::symlink(driver.c_str(), (folder + "/driver").c_str()) != 0 ||
          ::symlink(folder.c_str(), (driver + "/" + address).c_str()) != 0)
        return io_error("{}: no link to its driver can be made", folder);
    }
    return Ok{};
  }

  Result<Ok> device_nodes(const Majors& majors) {
    SMARTMIG_RETURN_IF_ERROR(cover_folder("/dev", [](const std::string& name) { return !name.starts_with("nvidia"); }));
    ::mkdir("/dev/nvidia-caps", 0755);
    const mode_t none = ::umask(0);
    const bool real = !majors.real_driver && node("nvidiactl", kBoardMajor, kControlMinor, 0666);
    const Result<Ok> made = real ? (character_nodes(majors), Result<Ok>(Ok{})) : plain_files();
    ::umask(none);
    return made;
  }

  static bool node(const std::string& name, int major, int minor, mode_t mode) {
    return ::mknod(("/dev/" + name).c_str(), S_IFCHR | mode, makedev(unsigned(major), unsigned(minor))) == 0;
  }

  template <class F>
  void for_each_capability(F&& f) {  // every one that an instance may get, as the nodes stay while instances change
    for (int gpu = 0; gpu < m_.gpu_count(); ++gpu)
      for (unsigned gi = 0; gi < kInstanceIds; ++gi) {
        f(gpu_instance_minor(gpu, gi));
        for (unsigned ci = 0; ci < kComputeInstanceIds; ++ci) f(compute_instance_minor(gpu, gi, ci));
      }
  }

  void character_nodes(const Majors& majors) {
    node("nvidia-modeset", kBoardMajor, kModesetMinor, 0666);
    node("nvidia-uvm", majors.memory, 0, 0666);
    node("nvidia-uvm-tools", majors.memory, 1, 0666);
    for (int gpu = 0; gpu < m_.gpu_count(); ++gpu) node(board_node(gpu), kBoardMajor, gpu, 0666);
    const auto capability = [&](int minor, mode_t mode) {
      node(fmt::format("nvidia-caps/nvidia-cap{}", minor), majors.capabilities, minor, mode);
    };
    capability(kConfigMinor, 0400);
    capability(kMonitorMinor, 0444);
    for_each_capability([&](int minor) { capability(minor, 0444); });
  }

  // Those that registered processes keep open.
  Result<Ok> plain_files() {
    std::vector<std::string> names = {"nvidiactl"};
    for (int gpu = 0; gpu < m_.gpu_count(); ++gpu) names.push_back(board_node(gpu));
    for (const std::string& name : names) {
      const std::string source = directory_ + "/dev/" + name;
      if (!exists(source)) SMARTMIG_RETURN_IF_ERROR(put_file(source, ""));
      SMARTMIG_RETURN_IF_ERROR(put_file("/dev/" + name, ""));
      SMARTMIG_RETURN_IF_ERROR(show_at(source, "/dev/" + name));
    }
    const std::string folder = directory_ + "/dev/nvidia-caps";
    for_each_capability([&](int minor) {
      const std::string name = fmt::format("{}/nvidia-cap{}", folder, minor);
      if (!exists(name)) try_to(put_file(name, ""));
    });
    return show_at(folder, "/dev/nvidia-caps");
  }

  Machine& m_;
  const std::string directory_;
  std::vector<std::string> missing_;
};

}  // namespace

std::vector<std::string> show_boards(Machine& machine) { return Views(machine).show(); }

std::string modules_with_driver(const std::string& modules) {
  std::string out =
      "nvidia_uvm 1536000 0 - Live 0x0000000000000000 (OE)\nnvidia 104165376 1 nvidia_uvm, Live 0x0000000000000000 (OE)\n";
  for (const std::string_view line : split(modules, '\n'))
    if (!line.empty() && !line.starts_with("nvidia")) out += std::string(line) + "\n";
  return out;
}

}  // namespace smartmig::nvsim
