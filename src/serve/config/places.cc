#include "serve/config/places.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace smartmig {
namespace {

std::string variable(const char* name) {  // an absolute path, or nothing
  const char* value = std::getenv(name);
  return value && *value == '/' ? value : "";
}

std::string home() {
  if (const std::string named = variable("HOME"); !named.empty()) return named;
  passwd entry{}, *found = nullptr;
  std::vector<char> space(16'384);
  if (getpwuid_r(::geteuid(), &entry, space.data(), space.size(), &found) == 0 && found && found->pw_dir[0] == '/')
    return found->pw_dir;
  return temporary_home();
}

}  // namespace

std::string temporary_home() { return fmt::format("/tmp/smartmig-{}", ::geteuid()); }

std::string default_socket() {
  if (::geteuid() == 0) return "/run/smartmig/smartmig.sock";
  const std::string runtime = variable("XDG_RUNTIME_DIR");
  return runtime.empty() ? temporary_home() + "/smartmig.sock" : runtime + "/smartmig/smartmig.sock";
}

std::string default_state_dir() {
  if (::geteuid() == 0) return "/var/lib/smartmig";
  const std::string state = variable("XDG_STATE_HOME");
  return (state.empty() ? home() + "/.local/state" : state) + "/smartmig";
}

}  // namespace smartmig
