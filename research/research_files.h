// The files of research/data/ as strings inside smartmig-research, as base/embedded.h has those of data/.
#pragma once
#include "base/embedded.h"

namespace smartmig {

std::span<const EmbeddedFile> research_files();
std::string_view research_file(std::string_view name);  // a missing one is a bug of the build

}  // namespace smartmig
