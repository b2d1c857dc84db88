#include "memory/cuda_program/fat_binary.h"

#include <fmt/format.h>

#include "memory/cuda_program/elf_file.h"

namespace smartmig {
namespace {

constexpr std::uint32_t kContainerMagic = 0xBA55ED50;
constexpr std::uint64_t kCompressedFlags = 0x2000 | 0x8000;  // LZ4; zstd, from CUDA 12.8 on
constexpr std::uint64_t kLeastContainerHeader = 16, kLeastPartHeader = 48;
constexpr std::size_t kMostParts = 100'000;

}  // namespace

FatBinary read_fat_binary(std::string_view section) {
  FatBinary out;
  std::size_t parts = 0;
  std::uint64_t at = 0;
  while (at + kLeastContainerHeader <= section.size()) {
    if (*integer_at<std::uint32_t>(section, at) != kContainerMagic) {  // containers are aligned to 8 bytes
      at += 8;
      continue;
    }
    const std::uint64_t header = *integer_at<std::uint16_t>(section, at + 6),
                        size = *integer_at<std::uint64_t>(section, at + 8);
    if (header < kLeastContainerHeader || header > section.size() - at || size > section.size() - at - header) {
      out.damaged.push_back(
          fmt::format("the fat binary at byte {} says it has {} bytes, more than there are", at, size));
      at += 8;
      continue;
    }
    const std::string_view body = section.substr(std::size_t(at + header), std::size_t(size));
    FatContainer container;
    for (std::uint64_t p = 0; p + kLeastPartHeader <= body.size() && parts < kMostParts; ++parts) {
      const std::uint64_t part_header = *integer_at<std::uint32_t>(body, p + 4),
                          length = *integer_at<std::uint64_t>(body, p + 8);
      if (part_header < kLeastPartHeader || part_header > body.size() - p || length > body.size() - p - part_header) {
        out.damaged.push_back(fmt::format("a part of the fat binary at byte {} does not fit in it", at));
        break;
      }
      const int kind = *integer_at<std::uint16_t>(body, p);
      FatPart part;
      part.kind = kind == 1 ? FatPart::kPtx : kind == 2 ? FatPart::kCubin : FatPart::kOther;
      part.architecture = int(*integer_at<std::uint32_t>(body, p + 28) & 0xFFFF);
      part.compressed = (*integer_at<std::uint64_t>(body, p + 40) & kCompressedFlags) != 0;
      part.bytes = body.substr(std::size_t(p + part_header), std::size_t(length));
      container.parts.push_back(part);
      p += part_header + length;
    }
    out.containers.push_back(std::move(container));
    at += header + size;
    at = (at + 7) / 8 * 8;
  }
  return out;
}

}  // namespace smartmig
