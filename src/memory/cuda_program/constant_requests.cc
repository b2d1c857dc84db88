#include "memory/cuda_program/constant_requests.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace smartmig {
namespace {

constexpr std::uint64_t kLookBack = 64, kMostBytes = std::uint64_t(1) << 46;
constexpr int kRdx = 2, kRsi = 6;  // numbers of registers in instructions

bool asks_for_memory(std::string_view name) {
  for (const std::string_view known : {"cudaMalloc", "cudaMallocManaged", "cudaMallocAsync", "cuMemAlloc",
                                       "cuMemAlloc_v2", "cuMemAllocManaged", "cuMemAllocAsync"})
    if (name == known) return true;
  return false;
}
// cudaMalloc<float>(float**, size_t), where the compiler did not inline it.
bool is_typed_wrapper(std::string_view name) {
  return name.starts_with("_Z10cudaMallocI") || name.starts_with("_ZL10cudaMallocI") ||
         name.starts_with("_Z17cudaMallocManagedI") || name.starts_with("_ZL17cudaMallocManagedI");
}

int byte_at(std::string_view code, std::uint64_t at) {
  return at < code.size() ? int(static_cast<unsigned char>(code[std::size_t(at)])) : -1;
}

// What the instructions that set up a call write to rsi and rdx.
struct Arguments {
  std::optional<std::uint64_t> rsi, rdx;
  void forget(int reg) {
    if (reg == kRsi) rsi.reset();
    if (reg == kRdx) rdx.reset();
  }
};

// Length of ModRM, SIB and displacement from `at`; 0 if they are cut off.
std::uint64_t address_length(std::string_view code, std::uint64_t at) {
  const int modrm = byte_at(code, at);
  if (modrm < 0) return 0;
  const int mod = modrm >> 6, rm = modrm & 7;
  if (mod == 3) return 1;
  std::uint64_t length = rm == 4 ? 2 : 1;
  if (mod == 1) return length + 1;
  if (mod == 2 || (mod == 0 && rm == 5)) return length + 4;
  if (mod == 0 && rm == 4 && (byte_at(code, at + 1) & 7) == 5) length += 4;
  return length;
}

// Decodes one of the few instructions that precede a call: moves and addresses. Returns its length, or 0 for any other
// instruction.
std::uint64_t step(std::string_view code, std::uint64_t at, Arguments& args) {
  const std::uint64_t begin = at;
  int rex = 0;
  if (const int b = byte_at(code, at); b >= 0x40 && b <= 0x4F) rex = b, ++at;
  const int op = byte_at(code, at++);
  const int modrm = byte_at(code, at), reg = ((modrm >> 3) & 7) | (rex & 4 ? 8 : 0),
            rm = (modrm & 7) | (rex & 1 ? 8 : 0);
  if (op >= 0xB8 && op <= 0xBF) {  // a constant into a register
    const int target = (op - 0xB8) | (rex & 1 ? 8 : 0);
    const std::uint64_t width = rex & 8 ? 8 : 4;
    const auto value = width == 8 ? integer_at<std::uint64_t>(code, at)
                                  : std::optional<std::uint64_t>(integer_at<std::uint32_t>(code, at));
    if (!value || at + width > code.size()) return 0;
    if (target == kRsi) args.rsi = value;
    if (target == kRdx) args.rdx = value;
    return at + width - begin;
  }
  const std::uint64_t address = address_length(code, at);
  if (op < 0 || modrm < 0 || address == 0) return 0;
  const bool direct = modrm >> 6 == 3;
  switch (op) {
    case 0x89:  // register to register or memory
      if (direct && rm == kRsi)
        args.rsi = reg == kRdx ? args.rdx : std::nullopt;
      else if (direct)
        args.forget(rm);
      return at + address - begin;
    case 0x8B:  // register or memory to register
      if (direct && reg == kRsi)
        args.rsi = rm == kRdx ? args.rdx : std::nullopt;
      else
        args.forget(reg);
      return at + address - begin;
    case 0x8D:  // an address
    case 0x33:
      args.forget(reg);
      return at + address - begin;
    case 0x31:
      if (direct) args.forget(rm);
      return at + address - begin;
    case 0xC7: {  // a constant, sign-extended with REX.W
      const auto value = integer_at<std::uint32_t>(code, at + address);
      if (!value) return 0;
      if (direct) args.forget(rm);
      if (direct && rm == kRsi) args.rsi = rex & 8 ? std::uint64_t(std::int64_t(std::int32_t(*value))) : *value;
      return at + address + 4 - begin;
    }
    case 0x83:  // arithmetic with a small constant
      if (direct) args.forget(rm);
      return at + address + 1 - begin;
    default:
      return 0;
  }
}

std::optional<std::uint64_t> constant_before(std::string_view code, std::uint64_t call) {
  for (std::uint64_t back = 5; back <= std::min(call, kLookBack); ++back) {
    Arguments args;
    std::uint64_t at = call - back;
    if (step(code, at, args) == 0 || (!args.rsi && !args.rdx)) continue;
    args = {};
    while (at < call) {
      const std::uint64_t length = step(code, at, args);
      if (length == 0) break;
      at += length;
    }
    if (at == call && args.rsi) return args.rsi;
  }
  return std::nullopt;
}

class Targets {
 public:
  explicit Targets(const ElfFile& elf) : elf_(elf) {
    for (const ElfSection& s : elf.sections()) {
      if (s.type != 2 && s.type != 11) continue;  // symbol tables: of the file and of the dynamic linker
      for (const ElfSymbol& symbol : elf.symbols(s)) {
        if (symbol.value == 0) continue;
        if (asks_for_memory(symbol.name) || is_typed_wrapper(symbol.name)) functions_.insert(symbol.value);
        if (is_typed_wrapper(symbol.name)) wrappers_.emplace_back(symbol.value, symbol.size);
      }
    }
    for (const ElfSection& s : elf.sections()) {
      if (s.type != 4 || s.link >= elf.sections().size()) continue;  // relocations: slots that the linker fills
      const auto symbols = elf.symbols(elf.sections()[s.link]);
      for (std::uint64_t at = 0; at + 24 <= s.bytes.size(); at += 24) {
        const std::uint64_t index = *integer_at<std::uint64_t>(s.bytes, at + 8) >> 32;
        if (index < symbols.size() && asks_for_memory(symbols[std::size_t(index)].name))
          slots_.insert(*integer_at<std::uint64_t>(s.bytes, at));
      }
    }
  }
  bool none() const { return functions_.empty() && slots_.empty(); }
  bool is_slot(std::uint64_t address) const { return slots_.count(address) > 0; }
  bool is_function(std::uint64_t address) const { return functions_.count(address) > 0 || is_stub(address); }
  bool in_wrapper(std::uint64_t address) const {
    return std::any_of(wrappers_.begin(), wrappers_.end(),
                       [&](const auto& w) { return address >= w.first && address - w.first < w.second; });
  }

 private:
  bool is_stub(std::uint64_t address) const {  // of the procedure linkage table: [endbr64] [bnd] jmp *slot(%rip)
    if (slots_.empty()) return false;
    for (const ElfSection& s : elf_.sections()) {
      if (!s.name.starts_with(".plt") || address < s.address || address - s.address >= s.bytes.size()) continue;
      std::uint64_t at = address - s.address;
      if (integer_at<std::uint32_t>(s.bytes, at) == 0xFA1E0FF3u) at += 4;
      if (byte_at(s.bytes, at) == 0xF2) ++at;
      if (byte_at(s.bytes, at) != 0xFF || byte_at(s.bytes, at + 1) != 0x25) return false;
      const auto distance = integer_at<std::uint32_t>(s.bytes, at + 2);
      return distance && is_slot(s.address + at + 6 + std::uint64_t(std::int64_t(std::int32_t(*distance))));
    }
    return false;
  }
  const ElfFile& elf_;
  std::set<std::uint64_t> functions_, slots_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> wrappers_;
};

}  // namespace

ConstantRequests read_constant_requests(const ElfFile& elf) {
  ConstantRequests out;
  if (elf.machine() != ElfFile::kX86) return out;
  const Targets targets(elf);
  if (targets.none()) return out;
  out.possible = true;
  for (const ElfSection& s : elf.sections()) {
    if (!(s.flags & ElfFile::kExecutable) || s.name.starts_with(".plt")) continue;
    for (std::uint64_t at = 0; at + 5 <= s.bytes.size(); ++at) {
      const int op = byte_at(s.bytes, at);
      bool asks = false;
      if (op == 0xE8) {  // call, by distance
        const std::uint64_t to =
            s.address + at + 5 + std::uint64_t(std::int64_t(std::int32_t(*integer_at<std::uint32_t>(s.bytes, at + 1))));
        asks = targets.is_function(to);
      } else if (op == 0xFF && byte_at(s.bytes, at + 1) == 0x15 && at + 6 <= s.bytes.size()) {  // call *slot(%rip)
        const std::uint64_t to =
            s.address + at + 6 + std::uint64_t(std::int64_t(std::int32_t(*integer_at<std::uint32_t>(s.bytes, at + 2))));
        asks = targets.is_slot(to);
      }
      if (!asks || targets.in_wrapper(s.address + at)) continue;
      if (const auto bytes = constant_before(s.bytes, at); bytes && *bytes > 0 && *bytes <= kMostBytes)
        out.bytes.push_back(*bytes);
      else
        ++out.unknown;
    }
  }
  return out;
}

}  // namespace smartmig
