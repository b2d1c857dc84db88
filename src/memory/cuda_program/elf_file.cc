#include "memory/cuda_program/elf_file.h"

#include <algorithm>

namespace smartmig {
namespace {

constexpr std::uint64_t kHeader = 64, kSectionHeader = 64, kSymbol = 24, kDynamic = 16;
constexpr std::size_t kMostSymbols = 4'000'000;

}  // namespace

std::string_view text_at_offset(std::string_view bytes, std::uint64_t offset) {
  if (offset >= bytes.size()) return {};
  const std::string_view rest = bytes.substr(std::size_t(offset));
  const auto end = rest.find('\0');
  return end == rest.npos ? std::string_view() : rest.substr(0, end);
}

Result<ElfFile> ElfFile::parse(const std::string& name, std::string_view bytes) {
  if (!looks_like(bytes)) return invalid("{} is not an ELF file, so it is not a Linux program, library or cubin", name);
  if (bytes.size() < kHeader) return invalid("{}: the ELF header is cut off", name);
  if (bytes[4] != 2 || bytes[5] != 1) return invalid("{}: only 64-bit little-endian ELF files can be read", name);
  ElfFile out;
  out.machine_ = *integer_at<std::uint16_t>(bytes, 18);
  const std::uint64_t table = *integer_at<std::uint64_t>(bytes, 40);
  const std::uint64_t entry = *integer_at<std::uint16_t>(bytes, 58);
  std::uint64_t count = *integer_at<std::uint16_t>(bytes, 60), names = *integer_at<std::uint16_t>(bytes, 62);
  if (table == 0) return invalid("{}: it has no section headers; it may be stripped", name);
  if (entry != kSectionHeader) return invalid("{}: section headers of {} bytes are not known", name, entry);
  // The first header holds the number of sections if it exceeds 16 bits.
  if (count == 0) count = integer_at<std::uint64_t>(bytes, table + 32).value_or(0);
  if (names == 0xFFFF) names = integer_at<std::uint32_t>(bytes, table + 40).value_or(0);
  if (table > bytes.size() || count > (bytes.size() - table) / kSectionHeader)
    return invalid("{}: {} section headers do not fit in the file: it is cut off or damaged", name, count);
  std::vector<std::uint32_t> name_offsets;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = table + i * kSectionHeader;
    ElfSection s;
    name_offsets.push_back(*integer_at<std::uint32_t>(bytes, at));
    s.type = *integer_at<std::uint32_t>(bytes, at + 4);
    s.flags = *integer_at<std::uint64_t>(bytes, at + 8);
    s.address = *integer_at<std::uint64_t>(bytes, at + 16);
    const std::uint64_t offset = *integer_at<std::uint64_t>(bytes, at + 24);
    s.size = *integer_at<std::uint64_t>(bytes, at + 32);
    s.link = *integer_at<std::uint32_t>(bytes, at + 40);
    s.info = *integer_at<std::uint32_t>(bytes, at + 44);
    s.entry_size = *integer_at<std::uint64_t>(bytes, at + 56);
    if (s.type != kNoBits && s.type != 0) {
      if (offset > bytes.size() || s.size > bytes.size() - offset)
        return invalid("{}: section {} lies outside the file: it is cut off or damaged", name, i);
      s.bytes = bytes.substr(std::size_t(offset), std::size_t(s.size));
    }
    out.sections_.push_back(s);
  }
  if (names < count)
    for (std::size_t i = 0; i < out.sections_.size(); ++i)
      out.sections_[i].name = text_at_offset(out.sections_[std::size_t(names)].bytes, name_offsets[i]);
  return out;
}

const ElfSection* ElfFile::find(std::string_view name) const {
  const auto at = std::find_if(sections_.begin(), sections_.end(), [&](const ElfSection& s) { return s.name == name; });
  return at == sections_.end() ? nullptr : &*at;
}

std::vector<ElfSymbol> ElfFile::symbols(const ElfSection& table) const {
  std::vector<ElfSymbol> out;
  if (table.link >= sections_.size()) return out;
  const std::string_view names = sections_[table.link].bytes;
  const std::size_t count = std::min<std::size_t>(table.bytes.size() / kSymbol, kMostSymbols);
  out.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t at = i * kSymbol;
    out.push_back({text_at_offset(names, *integer_at<std::uint32_t>(table.bytes, at)),
                   *integer_at<std::uint64_t>(table.bytes, at + 8), *integer_at<std::uint64_t>(table.bytes, at + 16)});
  }
  return out;
}

std::vector<std::string_view> ElfFile::needed() const {
  std::vector<std::string_view> out;
  const ElfSection* dynamic = find(".dynamic");
  if (!dynamic || dynamic->link >= sections_.size()) return out;
  for (std::uint64_t at = 0; at + kDynamic <= dynamic->bytes.size(); at += kDynamic) {
    const std::uint64_t tag = *integer_at<std::uint64_t>(dynamic->bytes, at);
    if (tag == 0) break;
    if (tag != 1) continue;
    const auto name =
        text_at_offset(sections_[dynamic->link].bytes, *integer_at<std::uint64_t>(dynamic->bytes, at + 8));
    if (!name.empty()) out.push_back(name);
  }
  return out;
}

}  // namespace smartmig
