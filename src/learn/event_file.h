// TensorBoard event files: records framed as length, masked CRC-32C of the length, payload, masked CRC-32C of the
// payload; the payload is an Event message with a Summary of simple values, written by hand. Format: the TFRecord and
// event.proto descriptions of TensorFlow. Pure functions from values to bytes; wall time is the caller's.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smartmig {

std::uint32_t crc32c(std::string_view bytes);
std::string framed(std::string_view payload);
std::string event_file_header(double wall_time);  // the record that opens every event file
std::string scalar_event(double wall_time, std::int64_t step,
                         const std::vector<std::pair<std::string, double>>& values);

}  // namespace smartmig
