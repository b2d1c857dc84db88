// Small files that must survive a crash at any instant: written to a sibling, flushed to the disk, renamed, and the
// directory flushed too; a reader finds the old text or the new one. For intents of reshapes, ledgers and quarantine.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smartmig {

// While it lives, no other process that takes its turn at `path` changes that file. The lock is the file PATH.turn.
class FileTurn {
 public:
  static Result<FileTurn> take(const std::string& path);
  FileTurn(FileTurn&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  ~FileTurn();

 private:
  explicit FileTurn(int fd) : fd_(fd) {}
  int fd_;
};

Result<Ok> write_durably(const std::string& path, std::string_view text);
Result<Ok> remove_durably(const std::string& path);  // no error where there is none
Result<Ok> make_directories(const std::string& path);
std::vector<std::string> files_in(const std::string& directory, std::string_view prefix, std::string_view suffix);

}  // namespace smartmig
