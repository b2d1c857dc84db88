// Waits until an entry of a directory is created, removed or renamed (inotify), so that marks by scripts are seen at
// once. One thread waits.
#pragma once
#include <string>

#include "base/result.h"
#include "base/units.h"

namespace smartmig {

class FolderWatch {
 public:
  static Result<FolderWatch> open(const std::string& folder);
  FolderWatch(FolderWatch&& other) noexcept;
  FolderWatch& operator=(FolderWatch&&) = delete;
  ~FolderWatch();
  bool wait(Time limit);  // false: nothing happened within it

 private:
  explicit FolderWatch(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace smartmig
