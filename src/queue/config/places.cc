#include "queue/config/places.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <cctype>
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

std::string emulated_state_dir(const std::string& fleet, const std::string& clock) {
  std::string name = fleet + (clock == "real" ? "" : "-" + clock);
  for (char& c : name) {
    const auto plain = static_cast<unsigned char>(c);
    c = std::isalnum(plain) || c == ',' || c == '-' ? char(std::tolower(plain)) : '_';
  }
  return default_state_dir() + "/emulated/" + name;
}

}  // namespace smartmig
