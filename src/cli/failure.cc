#include "cli/failure.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/printable.h"

namespace smartmig::cli {

int usage_error(const Error& error) {
  fmt::print(stderr, "smartmig: {}\n", printable_lines(error.what));
  return 2;
}

int failure(const Error& error) {
  fmt::print(stderr, "smartmig: {}\n", printable_lines(error.what));
  return 1;
}

}  // namespace smartmig::cli
