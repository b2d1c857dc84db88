// What libFuzzer calls: finds the target by the program's name.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "fuzz/target.h"

namespace smartmig::fuzz {
namespace {

std::map<std::string, Target>& targets() {
  static std::map<std::string, Target> all;
  return all;
}

Target chosen = nullptr;

}  // namespace

bool add_target(const char* name, Target target) { return targets().emplace(name, target).second; }

}  // namespace smartmig::fuzz

extern "C" int LLVMFuzzerInitialize(int*, char*** argv) {
  using namespace smartmig::fuzz;
  const std::string path = (*argv)[0];
  const auto found = targets().find(path.substr(path.rfind('/') + 1));
  if (found == targets().end()) {
    std::fprintf(stderr, "call this program by the name of a target:\n");
    for (const auto& [name, target] : targets()) std::fprintf(stderr, "  %s\n", name.c_str());
    std::exit(2);
  }
  chosen = found->second;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return smartmig::fuzz::chosen(data, size);
}
