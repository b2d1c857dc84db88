#include "base/embedded.h"

#include "base/check.h"

namespace smartmig {

std::string_view embedded_file(std::string_view name) {
  for (const EmbeddedFile& file : embedded_files())
    if (file.name == name) return file.text();
  SMARTMIG_CHECK(false, "no embedded data file {}", name);
}

}  // namespace smartmig
