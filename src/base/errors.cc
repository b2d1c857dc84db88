#include "base/errors.h"

#include <array>

namespace smartmig {
namespace {

struct CodeName {
  Error::Code code;
  const char* name;
};
constexpr std::array<CodeName, 8> kCodeNames = {{{Error::kInvalid, "invalid"},
                                                 {Error::kNotFound, "not_found"},
                                                 {Error::kBusy, "busy"},
                                                 {Error::kNoPermission, "no_permission"},
                                                 {Error::kUnsupported, "unsupported"},
                                                 {Error::kLost, "lost"},
                                                 {Error::kTimeout, "timeout"},
                                                 {Error::kIo, "io"}}};

}  // namespace

const char* code_name(Error::Code code) {
  for (const CodeName& row : kCodeNames)
    if (row.code == code) return row.name;
  return "io";
}

Error::Code error_code(std::string_view name) {
  for (const CodeName& row : kCodeNames)
    if (name == row.name) return row.code;
  return Error::kLost;
}

}  // namespace smartmig
