#include "live/jobs/reach.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <thread>

#include "base/errors.h"
#include "base/text.h"
#include "base/thread.h"

namespace smartmig {
namespace {

namespace fs = std::filesystem;

std::vector<gid_t> groups_of(std::uint32_t uid, std::uint32_t gid) {
  passwd entry{}, *found = nullptr;
  std::vector<char> space(16'384);
  std::vector<gid_t> groups(1, gid);
  if (::getpwuid_r(uid, &entry, space.data(), space.size(), &found) != 0 || !found) return groups;
  groups.resize(256);
  int count = int(groups.size());
  if (::getgrouplist(found->pw_name, gid, groups.data(), &count) < 0) count = int(groups.size());
  groups.resize(std::size_t(count));
  return groups;
}

// Of this thread alone: glibc's wrappers would change every thread of the process.
bool become(std::uint32_t uid, std::uint32_t gid, const std::vector<gid_t>& groups) {
  if (uid == ::geteuid()) return true;
  if (::geteuid() != 0 || ::syscall(SYS_setgroups, groups.size(), groups.data()) != 0) return false;
  ::setfsgid(gid);
  ::setfsuid(uid);
  return std::uint32_t(::setfsuid(uid)) == uid;  // and with it go the rights of root over files
}

// 0: it can be entered or executed; else errno.
int refused_by_kernel(const std::string& path) {
#ifdef SYS_faccessat2
  if (::syscall(SYS_faccessat2, AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0) return 0;
  if (errno != ENOSYS) return errno;
#endif
  const int fd = ::open(path.c_str(), O_PATH | O_CLOEXEC);  // an older kernel: the way to it, not its own mode
  if (fd < 0) return errno;
  ::close(fd);
  return 0;
}

// The first part of the path that may not be entered: "/root" of a job below root's home.
std::string obstacle(const fs::path& path) {
  fs::path part;
  for (const fs::path& piece : path) {
    part /= piece;
    if (refused_by_kernel(part.string()) == EACCES) return part.string();
  }
  return path.string();
}

// Where the program may lie, in the order of the search, until `look` says true; one that names a directory lies there
// alone. A longer PATH than any search needs is no refusal.
void each_candidate(const JobSpec& spec, const std::function<bool(const fs::path&)>& look) {
  const fs::path program = spec.command.front();
  if (program.is_absolute() || spec.command.front().find('/') != std::string::npos) {
    look(fs::path(spec.directory) / program);
    return;
  }
  std::string_view search = search_path(spec);
  for (int i = 0; i < kMostPlaces; ++i) {
    const auto end = search.find(':');
    if (look(fs::path(spec.directory) / search.substr(0, end) / program) || end == search.npos) return;
    search.remove_prefix(end + 1);
  }
}

std::string refusal(const JobSpec& spec, std::uint32_t uid) {
  if (refused_by_kernel(spec.directory) == EACCES)
    return fmt::format(
        "user {} cannot enter the job's directory {}: {} is closed to them; open it, or submit "
        "from another directory",
        uid, spec.directory, obstacle(spec.directory));
  std::string closed;
  bool found = false;
  each_candidate(spec, [&](const fs::path& path) {
    const int code = refused_by_kernel(path.string());
    if (code == EACCES && closed.empty()) closed = path.lexically_normal().string();
    return found = code == 0;
  });
  if (found || closed.empty()) return {};
  return fmt::format("user {} cannot execute {}: {} is closed to them; open it, or move the program", uid, closed,
                     obstacle(closed));
}

}  // namespace

Result<Ok> with_rights_of(std::uint32_t uid, std::uint32_t gid, const std::function<void()>& look) {
  const auto groups = uid == ::geteuid() ? std::vector<gid_t>() : groups_of(uid, gid);
  SMARTMIG_TRY(std::thread looking, start_thread("a look with a user's rights", [&] {
                 if (become(uid, gid, groups)) look();
               }));
  looking.join();
  return Ok{};
}

std::string_view search_path(const JobSpec& spec) {
  std::string_view search = "/usr/local/bin:/usr/bin:/bin";
  for (const std::string& entry : spec.environment)
    if (entry.starts_with("PATH=")) search = std::string_view(entry).substr(5);
  return search;
}

Result<Ok> can_reach_program(const JobSpec& spec, std::uint32_t uid, std::uint32_t gid) {
  if (spec.command.empty() || uid == 0) return Ok{};
  JobSpec seen = spec;
  if (!spec.container.empty()) seen.command = {"/bin/sh"};  // its program lies in the image
  std::string words;
  SMARTMIG_RETURN_IF_ERROR(with_rights_of(uid, gid, [&] { words = refusal(seen, uid); }));
  if (!words.empty()) return no_permission("{}", words);
  return Ok{};
}

}  // namespace smartmig
