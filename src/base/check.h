// SMARTMIG_CHECK(condition, format, args...) stops the program in every build when an invariant is broken, and prints
// the place and a sentence. A broken invariant is a bug. Expected failures (files, input, hardware) are Results, never
// checks.
#pragma once
#include <fmt/format.h>

#include <string>

namespace smartmig {
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& message);
}

#define SMARTMIG_CHECK(condition, ...)                                                         \
  do {                                                                                         \
    if (!(condition)) [[unlikely]]                                                             \
      ::smartmig::check_failed(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
  } while (false)
