#include "live/jobs/spool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "live/durable_file.h"

namespace smartmig {
namespace {

namespace fs = std::filesystem;

struct SpoolDescriptor {
  int fd = -1;
  ~SpoolDescriptor() {
    if (fd >= 0) ::close(fd);
  }
};

// nullopt: there is no such file.
Result<std::optional<std::string>> small_file(const std::string& path) {
  const SpoolDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
  if (file.fd < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<std::string>();
    return io_error("cannot read {}: {}", path, std::strerror(errno));
  }
  std::string text;
  char part[4096];
  for (;;) {
    const ssize_t n = ::read(file.fd, part, sizeof part);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error("cannot read {}: {}", path, std::strerror(errno));
    if (n == 0 || text.size() > (1u << 20)) return std::optional(std::move(text));
    text.append(part, std::size_t(n));
  }
}

struct flock whole_file(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

Result<Spool> Spool::open(const std::string& root) {
  std::error_code error;
  const fs::path whole = fs::absolute(root, error);
  SMARTMIG_RETURN_IF_ERROR(make_directories(whole.parent_path().string()));
  if (::mkdir(whole.c_str(), 0700) != 0 && errno != EEXIST)
    return io_error("cannot create the spool {}: {}", whole.string(), std::strerror(errno));
  struct stat entry {};
  if (::lstat(whole.c_str(), &entry) != 0 || !S_ISDIR(entry.st_mode))
    return io_error("{}: the spool is not a directory", whole.string());
  if (entry.st_uid != ::geteuid())
    return no_permission(
        "the spool {} belongs to uid {}, but the daemon runs as {}; choose another directory, or "
        "change its owner",
        whole.string(), entry.st_uid, ::geteuid());
  if ((entry.st_mode & 077) != 0 && ::chmod(whole.c_str(), 0700) != 0)
    return io_error("cannot close the spool {} to others: {}", whole.string(), std::strerror(errno));
  return Spool(whole.string());
}

std::string Spool::directory(AttemptId id) const { return fmt::format("{}/{}/{}", root_, id.job, id.attempt); }

Result<Ok> Spool::make(AttemptId id) const {
  const std::string above = fmt::format("{}/{}", root_, id.job), path = directory(id);
  for (int round = 0; round < 2; ++round) {
    // Somebody may have removed the whole spool.
    if (::mkdir(above.c_str(), 0700) != 0 && errno == ENOENT) (void)::mkdir(root_.c_str(), 0700);
    if (::mkdir(above.c_str(), 0700) != 0 && errno != EEXIST)
      return io_error("cannot create {}: {}", above, std::strerror(errno));
    if (::mkdir(path.c_str(), 0700) == 0) return Ok{};
    if (errno != EEXIST) return io_error("cannot create {}: {}", path, std::strerror(errno));
    SMARTMIG_TRY(const Look found, look(id));
    if (found.state != kNeverRan)
      return busy_error("attempt {} of job {} has a record, so it was started before; see {}", id.attempt, id.job,
                        path);
  }
  return io_error("cannot make room for attempt {} of job {}: cannot remove {}; remove it yourself", id.attempt, id.job,
                  path);
}

Result<AttemptRecord> Spool::read_record(AttemptId id) const {
  const std::string path = directory(id) + "/record";
  SMARTMIG_TRY(const auto text, small_file(path));
  if (!text) return not_found("attempt {} of job {} has no record", id.attempt, id.job);
  return parse_attempt_record(path, *text);
}

Result<std::optional<AttemptExit>> Spool::read_exit(AttemptId id) const {
  const std::string path = directory(id) + "/exit";
  SMARTMIG_TRY(const auto text, small_file(path));
  if (!text) return std::optional<AttemptExit>();
  SMARTMIG_TRY(AttemptExit exit, parse_attempt_exit(path, *text, id));
  return std::optional(std::move(exit));
}

Result<Ok> Spool::write_exit(const AttemptExit& exit) const {
  return write_durably(directory(exit.id) + "/exit", to_text(exit));
}

Result<Spool::Look> Spool::look(AttemptId id, Time patience) const {
  const std::string path = directory(id);
  const SpoolDescriptor directory_fd{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)};
  if (directory_fd.fd < 0) {
    if (errno == ENOENT) return Look{};
    return io_error("cannot read the directory {}: {}", path, std::strerror(errno));
  }
  // The only descriptor of this process for that file: closing another one would drop the lock.
  const SpoolDescriptor lock{::openat(directory_fd.fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (lock.fd < 0) return io_error("cannot open {}/lock: {}", path, std::strerror(errno));
  for (Time waited{};;) {
    struct flock wanted = whole_file(F_WRLCK);
    const bool free = ::fcntl(lock.fd, F_SETLK, &wanted) == 0;
    if (!free && errno != EAGAIN && errno != EACCES && errno != EINTR)
      return io_error("cannot lock {}/lock: {}", path, std::strerror(errno));
    auto record = read_record(id);
    if (!record && record.error().code != Error::kNotFound) return record.error();
    if (free) {
      Look found;
      if (record && !record->is_void) {
        SMARTMIG_TRY(found.exit, read_exit(id));
        found.record = std::move(*record);
        found.state = found.exit ? kEnded : kAbandoned;
        return found;
      }
      if (!record) SMARTMIG_RETURN_IF_ERROR(write_durably(path + "/record", void_record()));
      remove(id);
      return found;
    }
    if (record && !record->is_void) {
      Look found;
      found.state = kRunning;
      found.record = std::move(*record);
      return found;
    }
    if (waited >= patience)
      return timeout_error(
          "the supervisor of attempt {} of job {} has written no record within {:.0f} s, because the disk of {} does not respond; try again when it does",
          id.attempt, id.job, seconds(patience), path);
    ::usleep(5000);
    waited += Time(5000);
  }
}

std::vector<std::uint64_t> Spool::jobs() const {
  std::vector<std::uint64_t> found;
  std::error_code error;
  for (fs::directory_iterator at(root_, error), end; !error && at != end; at.increment(error))
    if (const auto number = parse_int(at->path().filename().string()); number && *number > 0)
      found.push_back(std::uint64_t(*number));
  return found;
}

std::vector<AttemptId> Spool::attempts(std::uint64_t job) const {
  std::vector<AttemptId> found;
  std::error_code error;
  for (fs::directory_iterator at(fmt::format("{}/{}", root_, job), error), end; !error && at != end;
       at.increment(error))
    if (const auto number = parse_int(at->path().filename().string()); number && *number > 0)
      found.push_back({job, int(*number)});
  return found;
}

// The origin goes before the lock: a supervisor that comes while the directory is being emptied could make and take a
// lock of its own, and knows by the missing origin that it must not run.
void Spool::remove(AttemptId id) const {
  std::error_code error;
  fs::remove(fs::path(directory(id)) / "origin", error);
  fs::remove_all(directory(id), error);
  ::rmdir(fmt::format("{}/{}", root_, id.job).c_str());
}

}  // namespace smartmig
