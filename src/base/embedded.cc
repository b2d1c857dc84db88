#include "base/embedded.h"

#include "base/check.h"

namespace smartmig {

std::string_view text_of(std::span<const EmbeddedFile> files, std::string_view name) {
  for (const EmbeddedFile& file : files)
    if (file.name == name) return file.text();
  SMARTMIG_CHECK(false, "no embedded data file {}", name);
}

std::string_view embedded_file(std::string_view name) { return text_of(embedded_files(), name); }

}  // namespace smartmig
