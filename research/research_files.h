// The files of research/data/ as strings inside smartmig-research, like those of data/ in base/embedded.h.
#pragma once
#include "base/embedded.h"

namespace smartmig {

std::span<const EmbeddedFile> research_files();
std::string_view research_file(std::string_view name);  // a missing file is a bug of the build

}  // namespace smartmig
