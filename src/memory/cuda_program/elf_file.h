// A 64-bit little-endian ELF file in memory: a host program, a library, or a cubin (NVIDIA's machine code is ELF, too).
// The input is not trusted: every offset and size is checked, a damaged part is an error or is left out. Nothing is
// copied. Layout of the structures: the System V ABI, chapter 4 (ELF).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smartmig {

// The little-endian integer of type T at `offset`; nothing if it does not lie within `bytes`.
template <class T>
std::optional<T> integer_at(std::string_view bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = T(value | T(T(static_cast<unsigned char>(bytes[std::size_t(offset) + i])) << (8 * i)));
  return value;
}
// The text from `offset` to its zero byte; empty if there is none.
std::string_view text_at_offset(std::string_view bytes, std::uint64_t offset);

struct ElfSection {
  std::string_view name;
  std::uint32_t type = 0;
  std::uint64_t flags = 0, address = 0, size = 0, entry_size = 0;
  std::uint32_t link = 0, info = 0;
  std::string_view bytes;  // empty for a section without bytes in the file (.bss, .nv.global)
};
struct ElfSymbol {
  std::string_view name;
  std::uint64_t value = 0, size = 0;
};

class ElfFile {
 public:
  static constexpr std::uint16_t kX86 = 62, kCuda = 190;
  static constexpr std::uint32_t kNoBits = 8;
  static constexpr std::uint64_t kAlloc = 2, kExecutable = 4;

  static bool looks_like(std::string_view bytes) {
    return bytes.starts_with(
        "\x7f"
        "ELF");
  }
  static Result<ElfFile> parse(const std::string& name, std::string_view bytes);  // keeps a view of `bytes`

  std::uint16_t machine() const { return machine_; }
  const std::vector<ElfSection>& sections() const { return sections_; }
  const ElfSection* find(std::string_view name) const;
  std::vector<ElfSymbol> symbols(const ElfSection& table) const;  // by index; leaves out those of a damaged table
  std::vector<std::string_view> needed() const;                   // libraries that the file is linked with

 private:
  std::uint16_t machine_ = 0;
  std::vector<ElfSection> sections_;
};

}  // namespace smartmig
