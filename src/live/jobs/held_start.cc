#include "live/jobs/held_start.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "live/grant_format.h"
#include "live/jobs/attempt_record.h"
#include "live/jobs/reach.h"

namespace smartmig {
namespace {

constexpr char kNoDevice[] = "MIG-00000000-0000-0000-0000-000000000000";
constexpr int kMostLooked = 4096;  // files in the directory of one attempt: a job could make any number
#if defined(__x86_64__)
constexpr int kOwnMachine = EM_X86_64;
#else
constexpr int kOwnMachine = EM_AARCH64;
#endif

constexpr const char* kGrantedAt = "/granted-at";

std::int64_t clock_us(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * std::int64_t(1'000'000) + now.tv_nsec / 1000;
}

struct HoldFile {
  int fd = -1;
  explicit HoldFile(int opened) : fd(opened) {}
  ~HoldFile() {
    if (fd >= 0) ::close(fd);
  }
  HoldFile(const HoldFile&) = delete;
  HoldFile& operator=(const HoldFile&) = delete;
};

std::string program_path(const JobSpec& spec) {
  namespace fs = std::filesystem;
  const std::string& name = spec.command.front();
  if (name.find('/') != name.npos) return (fs::path(spec.directory) / name).string();
  std::string_view search = search_path(spec);
  for (int i = 0; i < kMostPlaces; ++i) {
    const auto end = search.find(':');
    const std::string_view place = search.substr(0, end);
    const std::string path = (fs::path(spec.directory) / place / name).string();
    if (::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0) return path;
    if (end == search.npos) break;
    search.remove_prefix(end + 1);
  }
  return {};
}

Result<Ok> loads_libraries(const std::string& path, int depth) {
  struct stat entry {};
  const HoldFile file(::stat(path.c_str(), &entry) == 0 && S_ISREG(entry.st_mode)
                          ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
                          : -1);
  char head[4096] = {};
  const ssize_t got = file.fd >= 0 ? ::pread(file.fd, head, sizeof head - 1, 0) : -1;
  if (got < 2) return not_found("cannot read {}", path);
  if (head[0] == '#' && head[1] == '!' && depth > 0) {
    const std::string_view line = trim(std::string_view(head + 2, std::strcspn(head + 2, "\n")));
    return loads_libraries(std::string(line.substr(0, line.find_first_of(" \t"))), depth - 1);
  }
  Elf64_Ehdr elf{};
  if (got < ssize_t(sizeof elf) || std::memcmp(head, ELFMAG, SELFMAG) != 0)
    return unsupported("{} is neither a program nor a script with a #! line", path);
  std::memcpy(&elf, head, sizeof elf);
  if (head[EI_CLASS] != ELFCLASS64 || elf.e_machine != kOwnMachine || elf.e_phentsize != sizeof(Elf64_Phdr))
    return unsupported("{} is for a different architecture than the preload library", path);
  for (int i = 0; i < elf.e_phnum; ++i) {
    Elf64_Phdr part{};
    const auto at = off_t(elf.e_phoff + std::uint64_t(i) * sizeof part);
    if (::pread(file.fd, &part, sizeof part, at) != ssize_t(sizeof part)) break;
    if (part.p_type == PT_INTERP) return Ok{};
  }
  return unsupported("{} is linked statically and loads no libraries", path);
}

}  // namespace

Result<Ok> can_be_held(const JobSpec& spec, std::uint32_t uid, std::uint32_t gid) {
  Result<Ok> answer = unsupported("user {} cannot read its program", uid);
  SMARTMIG_RETURN_IF_ERROR(with_rights_of(uid, gid, [&] {
    const std::string path = program_path(spec);
    answer = path.empty() ? not_found("{} is not in its PATH", spec.command.front()) : loads_libraries(path, 4);
  }));
  return answer;
}

Environment hold_environment(const std::string& directory, bool hold) {
  Environment out = {{"SMARTMIG_HOLD_DIR", directory},
                     {"SMARTMIG_HOLD_SINCE", std::to_string(clock_us(CLOCK_BOOTTIME))}};
  if (!hold) return out;
  out.push_back({"SMARTMIG_HOLD", "1"});
  out.push_back({"CUDA_VISIBLE_DEVICES", kNoDevice});
  return out;
}

Result<Ok> note_grant_time(const std::string& directory) {
  return write_file(directory + kGrantedAt, fmt::format("{} {}\n", this_boot(), clock_us(CLOCK_BOOTTIME)));
}

std::optional<UnixTime> grant_time(const std::string& directory) {
  struct stat entry {};
  if (::lstat((directory + "/" SMARTMIG_GRANT).c_str(), &entry) != 0) return std::nullopt;
  const std::int64_t written = entry.st_mtim.tv_sec * std::int64_t(1'000'000) + entry.st_mtim.tv_nsec / 1000;
  const auto noted = read_file(directory + kGrantedAt);
  if (!noted) return from_unix_us(written);  // by a daemon of before
  const auto words = split(trim(*noted), ' ');
  const auto steady = words.size() == 2 && words[0] == this_boot() ? parse_int(words[1]) : std::nullopt;
  if (!steady) return from_unix_us(written);
  return from_unix_us(clock_us(CLOCK_REALTIME) - std::max<std::int64_t>(0, clock_us(CLOCK_BOOTTIME) - *steady));
}

std::string grant_text(const Environment& slice) {
  std::string text;
  for (const auto& [name, value] : slice) text.append(name).append("=").append(value).push_back('\0');
  return text;
}

// The job may write here as well: what it put under our names is removed, and no link of its is followed.
Result<Ok> write_grant(const std::string& directory, std::string_view text) {
  const auto failed = [&](int why) -> Error {
    const bool machine =
        why == ENOSPC || why == EDQUOT || why == EMFILE || why == ENFILE || why == ENOMEM || why == EIO || why == EROFS;
    const std::string words = fmt::format("no grant can be put into {}: {}", directory, std::strerror(why));
    return machine ? io_error("{}", words) : invalid("{}", words);
  };
  if (text.size() > SMARTMIG_GRANT_BYTES) return invalid("the environment of {} is too long for a grant", directory);
  const HoldFile place(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (place.fd < 0) return failed(errno);
  constexpr const char* kNew = "grant.new";
  ::unlinkat(place.fd, kNew, 0);
  const HoldFile file(::openat(place.fd, kNew, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (file.fd < 0 || ::fchmod(file.fd, 0644) != 0) return failed(errno);
  const ssize_t put = ::write(file.fd, text.data(), text.size());
  if (put != ssize_t(text.size())) return failed(put < 0 ? errno : ENOSPC);
  if (::renameat(place.fd, kNew, place.fd, SMARTMIG_GRANT) != 0) return failed(errno);
  return Ok{};
}

std::optional<Time> first_cuda_call(const std::string& directory) {
  std::optional<Time> first;
  DIR* const list = ::opendir(directory.c_str());
  if (!list) return first;
  int looked = 0;
  for (dirent* entry = ::readdir(list); entry && looked < kMostLooked; entry = ::readdir(list), ++looked) {
    if (!std::string_view(entry->d_name).ends_with(SMARTMIG_FIRST_CALL)) continue;
    const HoldFile file(::openat(::dirfd(list), entry->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    char text[32] = {};
    struct stat kind {};
    if (file.fd < 0 || ::fstat(file.fd, &kind) != 0 || !S_ISREG(kind.st_mode)) continue;
    if (::read(file.fd, text, sizeof text - 1) <= 0) continue;
    const auto us = parse_int(trim(std::string_view(text)));
    if (us && *us >= 0) first = std::min(first.value_or(Time::max()), Time(*us));
  }
  ::closedir(list);
  return first;
}

}  // namespace smartmig
