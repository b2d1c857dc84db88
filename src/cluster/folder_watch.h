// Waits until an entry of a folder appears, goes or is renamed (inotify), so that what a script marks there is seen at
// once. Thread rule: one thread waits.
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
