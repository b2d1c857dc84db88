#include "report/name_colours.h"

#include <algorithm>
#include <map>

#include "report/html_page.h"

namespace smartmig {
namespace {

std::uint32_t hash_of(const std::string& name) {  // FNV-1a
  std::uint32_t hash = 0x811c9dc5;
  for (const char c : name) hash = (hash ^ std::uint8_t(c)) * 0x01000193u;
  return hash;
}

}  // namespace

std::vector<int> colours_of(const std::vector<std::string>& names) {
  std::map<std::pair<std::uint32_t, std::string>, int> colours;  // in the order in which names choose
  for (const std::string& name : names) colours[{hash_of(name), name}] = int(hash_of(name) % kKindColours);
  if (colours.size() <= std::size_t(kKindColours)) {
    std::vector<bool> taken(kKindColours);
    for (auto& [name, colour] : colours) {
      while (taken[std::size_t(colour)]) colour = (colour + 1) % kKindColours;
      taken[std::size_t(colour)] = true;
    }
  }
  std::vector<int> out;
  for (const std::string& name : names) out.push_back(colours.at({hash_of(name), name}));
  return out;
}

}  // namespace smartmig
