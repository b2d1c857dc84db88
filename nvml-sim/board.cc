#include "board.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "base/text.h"
#include "nvml_abi.h"

namespace smartmig::nvsim {
namespace {

struct Nominal {
  std::string_view model;
  int watts;           // of the product brief's default limit
  unsigned subsystem;  // device id of the PCI subsystem in public nvidia-smi -q listings; 0: none seen
};
constexpr Nominal kNominal[] = {
    {"a30-24gb", 165, 0},           {"a100-40gb", 400, 0x134F},   {"a100-80gb", 400, 0},
    {"h100-80gb-sxm", 700, 0x16C1}, {"h100-80gb-pcie", 350, 0},   {"h100-94gb", 400, 0},
    {"gh200-96gb", 900, 0},         {"gh200-144gb", 900, 0},      {"h20-96gb", 400, 0},
    {"h200-141gb", 700, 0x18BE},    {"b200-180gb", 1000, 0x1999}, {"gb200-186gb", 1200, 0},
    {"b300-270gb", 1400, 0},        {"gb300", 1400, 0},           {"rtx-pro-6000-blackwell-96gb", 600, 0}};

Nominal nominal_of(std::string_view model) {
  for (const Nominal& nominal : kNominal)
    if (nominal.model == model) return nominal;
  return {model, 700, 0};
}

std::string nominal_line(const GpuModel& model) {
  const int watts = nominal_of(model.name()).watts;
  return fmt::format("linear:{:.2f}:{:.4f}:{}", 0.15 * watts, 0.85 * watts / model.compute_slices(), watts);
}

unsigned gigabytes_in(std::string_view name) {  // of "1g.34gb"
  const auto dot = name.find('.');
  unsigned value = 0;
  for (auto i = dot + 1; dot != std::string_view::npos && i < name.size() && name[i] >= '0' && name[i] <= '9'; ++i)
    value = value * 10 + unsigned(name[i] - '0');
  return value;
}

// Compute instances stand at multiples of their size rounded up to a power of two: 2c of 7g at 0, 2, 4; 3c at 0, 4.
std::vector<int> compute_starts(int slices, int within) {
  int step = 1;
  while (step < slices) step *= 2;
  std::vector<int> starts;
  for (int start = 0; start + slices <= within; start += step) starts.push_back(start);
  return starts;
}

}  // namespace

Board::Board(std::shared_ptr<const GpuModel> model, PowerModel power)
    : model_(std::move(model)), power_(std::move(power)) {
  for (std::size_t i = 0; i < model_->profiles().size(); ++i)
    if (profile(int(i)).variant == Variant::kPlain && profile(int(i)).compute_slices == model_->compute_slices())
      whole_ = int(i);
}

Result<std::shared_ptr<const Board>> Board::named(std::string_view model, std::string_view power) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::string>, std::shared_ptr<const Board>> known;
  const std::lock_guard lock(mutex);
  auto& entry = known[{std::string(model), std::string(power)}];
  if (entry) return entry;
  SMARTMIG_TRY(auto geometry, Catalog::builtin().find(model));
  auto watts = PowerModel::named(power, *geometry);
  if (!watts && power == "auto") watts = PowerModel::named(nominal_line(*geometry), *geometry);
  if (!watts) return watts.error();
  entry.reset(new Board(std::move(geometry), std::move(*watts)));
  return entry;
}

unsigned Board::pci_id() const {
  const auto& ids = model_->spec().pci_ids;
  return ids.empty() ? 0x10DEu : unsigned(std::strtoul(ids.front().c_str(), nullptr, 16));
}

unsigned Board::pci_subsystem_id() const { return nominal_of(name()).subsystem << 16 | 0x10DEu; }

double Board::limit_watts() const { return std::max(double(nominal_of(name()).watts), power_.cap()); }

unsigned Board::architecture() const {
  const std::string_view name = model_->spec().architecture;
  return name == "Ampere"   ? NVML_DEVICE_ARCH_AMPERE
         : name == "Hopper" ? NVML_DEVICE_ARCH_HOPPER
                            : NVML_DEVICE_ARCH_BLACKWELL;
}

std::pair<int, int> Board::compute_capability() const {
  const std::string_view name = model_->spec().architecture;
  if (name == "Ampere") return {8, 0};
  if (name == "Hopper") return {9, 0};
  if (name == "Blackwell Ultra") return {10, 3};
  return name == "Blackwell" ? std::pair{10, 0} : std::pair{12, 0};
}

unsigned Board::memory_mib() const {
  const int known = model_->spec().memory_mib;
  return known > 0 ? unsigned(known) : gigabytes_in(profile(whole_).name) * 1024;
}
unsigned Board::sms() const {
  const int known = model_->spec().sms;
  return known > 0 ? unsigned(known) : sms(whole_);
}

Board::Clocks Board::clocks() const {
  if (name() == "a30-24gb") return {210, 1440, 930, 1215};
  if (name() == "a100-80gb") return {210, 1410, 1275, 1593};
  if (ampere()) return {210, 1410, 1095, 1215};
  if (name() == "h200-141gb") return {345, 1980, 1980, 3201};
  return architecture() == NVML_DEVICE_ARCH_HOPPER ? Clocks{345, 1980, 1980, 2619} : Clocks{120, 1965, 1965, 3996};
}

int Board::profile_by_constant(unsigned constant) const {
  for (std::size_t i = 0; i < model_->profiles().size(); ++i)
    if (profile(int(i)).nvml_enum == int(constant)) return int(i);
  return -1;
}

int Board::profile_by_id(unsigned id) const {
  for (std::size_t i = 0; i < model_->profiles().size(); ++i)
    if (id_of(int(i)) == id) return int(i);
  return -1;
}

unsigned Board::id_of(int index) const {
  const Profile& p = profile(index);
  if (p.nvml_id >= 0) return unsigned(p.nvml_id);
  switch (p.nvml_enum) {
    case NVML_GPU_INSTANCE_PROFILE_1_SLICE:
      return 19;
    case NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV1:
      return 20;
    case NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV2:
      return 15;
    case NVML_GPU_INSTANCE_PROFILE_2_SLICE:
      return 14;
    case NVML_GPU_INSTANCE_PROFILE_3_SLICE:
      return 9;
    case NVML_GPU_INSTANCE_PROFILE_4_SLICE:
      return 5;
    case NVML_GPU_INSTANCE_PROFILE_7_SLICE:
      return 0;
    default:
      return 100 + unsigned(index);
  }
}

unsigned Board::memory_mib(int index) const {
  const Profile& p = profile(index);
  if (p.memory_mib > 0) return unsigned(p.memory_mib);
  return memory_mib() * unsigned(p.memory_slices) / unsigned(model_->memory_slices());
}

unsigned Board::sms(int index) const {
  const Profile& p = profile(index);
  return p.sms > 0 ? unsigned(p.sms) : unsigned(16 * p.compute_slices);
}

Engines Board::engines(int index) const {
  const Profile& p = profile(index);
  const auto slices = unsigned(p.compute_slices);
  const bool whole = p.compute_slices == model_->compute_slices();
  const bool media = p.variant == Variant::kMedia || p.variant == Variant::kAllMedia;
  const unsigned one_only = whole || media;  // a board has a single OFA, and on Ampere a single JPEG engine
  Engines e;
  e.copy = slices;
  if (name() == "a30-24gb") {
    e.decoder = slices == 1 ? media : slices;
    e.jpeg = e.ofa = one_only;
  } else if (ampere()) {
    e.decoder = whole ? 5 : slices >= 3 ? 2 : slices == 2 || media || p.variant == Variant::kDoubleMemory ? 1 : 0;
    e.jpeg = e.ofa = one_only;
  } else {
    if (whole && model_->compute_slices() == 7) e.copy = 8;
    if (compute_capability().first == 10) e.copy *= 2;  // B200 and its kin: two for a slice, 16 in all
    const unsigned decoders = p.variant == Variant::kAllMedia  ? unsigned(model_->compute_slices())
                              : p.variant == Variant::kNoMedia ? 0
                                                               : slices;
    e.decoder = e.jpeg = decoders;
    e.encoder = compute_capability().first == 12 ? decoders : 0;
    e.ofa = one_only;
  }
  return e;
}

std::vector<ComputeProfile> Board::compute_profiles(int index) const {
  struct Size {
    unsigned id;
    int slices;
  };
  static constexpr Size kSizes[] = {{NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE, 1},
                                    {NVML_COMPUTE_INSTANCE_PROFILE_2_SLICE, 2},
                                    {NVML_COMPUTE_INSTANCE_PROFILE_3_SLICE, 3},
                                    {NVML_COMPUTE_INSTANCE_PROFILE_4_SLICE, 4},
                                    {NVML_COMPUTE_INSTANCE_PROFILE_7_SLICE, 7}};
  const Profile& p = profile(index);
  const int within = p.compute_slices;
  int one = int(sms(index)) / within, doubled = 0;  // SMs of the plain and of the double-memory 1g
  for (std::size_t i = 0; i < model_->profiles().size(); ++i) {
    if (profile(int(i)).compute_slices != 1) continue;
    if (profile(int(i)).variant == Variant::kPlain) one = int(sms(int(i)));
    if (profile(int(i)).variant == Variant::kDoubleMemory) doubled = int(sms(int(i)));
  }
  std::vector<ComputeProfile> out;
  for (const Size& size : kSizes) {
    if (size.slices > within || (size.slices == 3 && within == 4)) continue;
    const bool whole = size.slices == within;
    // The double-memory 1g has more SMs than one plain slice on Hopper and later: its whole is profile 7 (REV1).
    const bool plain_size = !whole || (p.variant == Variant::kDoubleMemory && doubled > one);
    out.push_back({size.id, size.slices, plain_size ? one * size.slices : int(sms(index)), within / size.slices,
                   compute_starts(size.slices, within), whole ? p.name : fmt::format("{}c.{}", size.slices, p.name)});
  }
  if (doubled > one && (p.variant == Variant::kDoubleMemory || within == 2))
    out.push_back({NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE_REV1,
                   1,
                   doubled,
                   1,
                   {0},
                   within == 1 ? p.name : fmt::format("1c.{}", p.name)});
  return out;
}

int Board::size_class(int index) const {
  const int fraction = model_->memory_slices() / std::max(1, profile(index).memory_slices);
  return fraction >= 8 ? 3 : fraction >= 4 ? 2 : fraction >= 2 ? 1 : 0;
}

}  // namespace smartmig::nvsim
