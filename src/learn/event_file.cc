#include "learn/event_file.h"

#include <array>
#include <bit>

namespace smartmig {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = c & 1 ? 0x82F63B78u ^ (c >> 1) : c >> 1;
    table[i] = c;
  }
  return table;
}
constexpr auto kTable = make_table();

std::uint32_t masked(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

void little(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(char(value >> (8 * i) & 0xFF));
}
void varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(char((value & 0x7F) | 0x80));
  out.push_back(char(value));
}
enum Wire { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
void tag(std::string& out, int field, Wire wire) { varint(out, std::uint64_t(field << 3 | wire)); }
void message(std::string& out, int field, std::string_view bytes) {
  tag(out, field, kBytes);
  varint(out, bytes.size());
  out += bytes;
}
std::string opened(double wall_time) {
  std::string out;
  tag(out, 1, kFixed64);
  little(out, std::bit_cast<std::uint64_t>(wall_time), 8);
  return out;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t c = ~0u;
  for (const char byte : bytes) c = kTable[(c ^ static_cast<unsigned char>(byte)) & 0xFF] ^ (c >> 8);
  return ~c;
}

std::string framed(std::string_view payload) {
  std::string out;
  little(out, payload.size(), 8);
  little(out, masked(out), 4);
  out += payload;
  little(out, masked(payload), 4);
  return out;
}

std::string event_file_header(double wall_time) {
  std::string event = opened(wall_time);
  message(event, 3, "brain.Event:2");
  return framed(event);
}

std::string scalar_event(double wall_time, std::int64_t step,
                         const std::vector<std::pair<std::string, double>>& values) {
  std::string summary;
  for (const auto& [name, number] : values) {
    std::string value;
    message(value, 1, name);
    tag(value, 2, kFixed32);
    little(value, std::bit_cast<std::uint32_t>(float(number)), 4);
    message(summary, 1, value);
  }
  std::string event = opened(wall_time);
  tag(event, 2, kVarint);
  varint(event, std::uint64_t(step));
  message(event, 5, summary);
  return framed(event);
}

}  // namespace smartmig
