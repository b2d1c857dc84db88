#include "research/research_files.h"

namespace smartmig {

std::string_view research_file(std::string_view name) { return text_of(research_files(), name); }

}  // namespace smartmig
