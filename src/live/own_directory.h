// A directory whose entries only this user can change. At a fixed path below /run or /tmp, somebody else may have
// placed a link, a directory of their own or a file that others can lock. This program opens everything at such paths
// through this class.
#pragma once
#include <string>

#include "base/result.h"

namespace smartmig {

struct OwnDirectory {
  // Makes `path` with `mode` where it is missing. kNoPermission: it is a link, belongs to neither this user nor root,
  // or others may write into it.
  static Result<OwnDirectory> open(const std::string& path, int mode = 0700);
  // The file `name` for reading and writing, made with mode 0600 where it is missing, never truncated. kNoPermission:
  // it is a link or no plain file, has a second name, or belongs to another user. An own file that others could open
  // gets mode 0600.
  Result<int> open_file(const std::string& name) const;

  OwnDirectory(OwnDirectory&& other) noexcept;
  OwnDirectory& operator=(OwnDirectory&&) = delete;
  ~OwnDirectory();
  const std::string& path() const { return path_; }

 private:
  OwnDirectory(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  int fd_ = -1;
  std::string path_;
};

// A short directory for sockets and locks of this user: `/run/NAME` for root, else below XDG_RUNTIME_DIR, else
// `/tmp/NAME-UID`.
std::string runtime_directory(const std::string& name);

}  // namespace smartmig
