#include "base/users.h"

#include <pwd.h>

#include "base/text.h"

namespace smartmig {

Result<std::uint32_t> uid_of(const std::string& user) {
  if (const auto number = parse_int(user)) {
    if (*number < 0 || *number >= 0xFFFFFFFF) return invalid("user={} is not a uid", user);
    return std::uint32_t(*number);
  }
  passwd entry{}, *found = nullptr;
  std::string buffer(16 << 10, '\0');
  if (user.size() <= 256 && user.find('\0') == user.npos)
    ::getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (!found) return invalid("user={}: this machine has no such user", user);
  return entry.pw_uid;
}

std::string user_name(std::uint32_t uid) {
  char buffer[4096];
  passwd entry{}, *found = nullptr;
  if (::getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) == 0 && found) return found->pw_name;
  return std::to_string(uid);
}

}  // namespace smartmig
