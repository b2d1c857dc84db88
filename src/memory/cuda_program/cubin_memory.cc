#include "memory/cuda_program/cubin_memory.h"

#include <algorithm>
#include <map>

#include "memory/cuda_program/elf_file.h"

namespace smartmig {
namespace {

enum Attribute : std::uint8_t { kFrameSize = 0x11, kMinStackSize = 0x12, kMaxStackSize = 0x23 };
constexpr std::uint8_t kSizedValue = 4;
constexpr std::uint32_t kNoKnownSize = 0xFFFFFFFF;
constexpr std::uint64_t kMost = std::uint64_t(1) << 46;  // no GPU has as much memory: the size is damaged

// An entry is a format, an attribute and a value, inline (2 bytes) or preceded by its size. Entries of functions hold
// the index of their symbol and a number.
template <class Visit>
void each_attribute(std::string_view info, const Visit& visit) {
  for (std::uint64_t at = 0; at + 4 <= info.size();) {
    const auto format = *integer_at<std::uint8_t>(info, at), attribute = *integer_at<std::uint8_t>(info, at + 1);
    const std::uint64_t size = format == kSizedValue ? *integer_at<std::uint16_t>(info, at + 2) : 0;
    if (size > info.size() - at - 4) return;
    if (size == 8) visit(attribute, *integer_at<std::uint32_t>(info, at + 4), *integer_at<std::uint32_t>(info, at + 8));
    at += 4 + size;
  }
}

}  // namespace

const KernelMemory* CubinMemory::hungriest() const {
  const KernelMemory* most = nullptr;
  for (const KernelMemory& k : kernels)
    if (k.local > 0 && (!most || k.local > most->local)) most = &k;
  return most;
}

Result<CubinMemory> read_cubin(const std::string& name, std::string_view bytes) {
  SMARTMIG_TRY(const ElfFile elf, ElfFile::parse(name, bytes));
  if (elf.machine() != ElfFile::kCuda) return invalid("{} is ELF for machine {}, not GPU code", name, elf.machine());
  CubinMemory out;
  std::vector<ElfSymbol> symbols;
  for (const ElfSection& s : elf.sections()) {
    if (s.type == 2) symbols = elf.symbols(s);
    if (!(s.flags & ElfFile::kAlloc)) continue;
    if (s.size > kMost) return invalid("{}: section {} has {} bytes, more than any GPU", name, s.name, s.size);
    std::uint64_t& sum = s.name.starts_with(".nv.global")     ? out.arrays
                         : s.name.starts_with(".nv.constant") ? out.constants
                         : (s.flags & ElfFile::kExecutable)   ? out.code
                                                              : out.constants;
    if (s.name.starts_with(".nv.shared") || s.name.starts_with(".nv.local")) continue;  // on chip; per thread
    sum += s.size;
    if (out.total() > kMost) return invalid("{}: its sections come to more bytes than any GPU has", name);
  }
  std::map<std::string, KernelMemory> kernels;
  for (const ElfSection& s : elf.sections())
    if (s.name.starts_with(".text.") && s.name.size() > 6) kernels[std::string(s.name.substr(6))];
  if (const ElfSection* info = elf.find(".nv.info"))
    each_attribute(info->bytes, [&](std::uint8_t attribute, std::uint32_t symbol, std::uint32_t value) {
      if (symbol >= symbols.size() || symbols[symbol].name.empty()) return;
      const auto at = kernels.find(std::string(symbols[symbol].name));
      if (at == kernels.end()) return;
      if (attribute != kFrameSize && attribute != kMinStackSize && attribute != kMaxStackSize) return;
      if (value == kNoKnownSize)
        at->second.dynamic_stack = true;
      else
        at->second.local = std::max<std::uint64_t>(at->second.local, value);
    });
  for (auto& [kernel, memory] : kernels) {
    memory.name = kernel;
    out.kernels.push_back(std::move(memory));
  }
  return out;
}

}  // namespace smartmig
