// One program holds all fuzz targets, because linking one for each took minutes. SMARTMIG_FUZZ_TARGET(swf) { ... } in
// swf_fuzz.cc defines the target swf_fuzz as a function of `data` and `size`; the program runs the target it is called
// by (build/asan/swf_fuzz is a link to it).
#pragma once
#include <cstddef>
#include <cstdint>

namespace smartmig::fuzz {

using Target = int (*)(const std::uint8_t* data, std::size_t size);
bool add_target(const char* name, Target target);

}  // namespace smartmig::fuzz

#define SMARTMIG_FUZZ_TARGET(name)                                                                          \
  static int name##_fuzz(const std::uint8_t* data, std::size_t size);                                       \
  [[maybe_unused]] static const bool name##_added = smartmig::fuzz::add_target(#name "_fuzz", name##_fuzz); \
  static int name##_fuzz(const std::uint8_t* data, std::size_t size)
