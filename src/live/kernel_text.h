// Files of /proc and /sys: they have no length, and a read fails where their process has ended since they were opened.
#pragma once
#include <fstream>
#include <sstream>
#include <string>

namespace smartmig {

// As far as it can be read; empty: not at all. (An istreambuf_iterator throws where a read fails.)
inline std::string text_of_kernel(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace smartmig
