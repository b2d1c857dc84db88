#include "cli/row_file.h"

#include <unistd.h>

#include "base/file.h"
#include "eval/profile_rows.h"

namespace smartmig::cli {

Result<Ok> put_rows(const std::string& path, const std::string& rows, const std::vector<std::string>& keys) {
  std::string before;
  if (::access(path.c_str(), F_OK) == 0) {
    SMARTMIG_TRY(before, read_file(path));
  }
  SMARTMIG_TRY(const std::string merged, merged_rows(path, before, rows, keys));
  return write_file(path, merged);
}

}  // namespace smartmig::cli
