#include "cli/failure.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/errors.h"
#include "base/json.h"
#include "base/printable.h"

namespace smartmig::cli {
namespace {

bool as_json = false;

void say(const Error& error) {
  if (!as_json) return fmt::print(stderr, "smartmig: {}\n", printable_lines(error.what));
  const nlohmann::json line = {{"error", {{"code", code_name(error.code)}, {"message", error.what}}}};
  fmt::print(stderr, "{}\n", json_dump(line));
}

bool of_the_call(Error::Code code) {
  return code == Error::kInvalid || code == Error::kNotFound || code == Error::kUnsupported;
}

}  // namespace

int usage_error(const Error& error) {
  say(error);
  return of_the_call(error.code) ? 2 : 1;
}

int failure(const Error& error) {
  say(error);
  return 1;
}

Error of_file(Error error) { return {Error::kIo, std::move(error.what)}; }

void errors_as_json(bool wanted) { as_json = wanted; }

}  // namespace smartmig::cli
