#include "slurm/slurm_names.h"

#include <unistd.h>

#include <algorithm>

namespace smartmig {

std::string short_host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
  const std::string whole(name);
  return whole.substr(0, whole.find('.'));
}

bool is_slurm_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && text != "." && text != ".." &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
                  c == '.';
         });
}

}  // namespace smartmig
