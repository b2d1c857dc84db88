// A copy of a program where every user can run it: a checkout may lie below a directory that only its owner can enter
// (root's home), and TempDir may be in memory, where many hosts refuse to execute. Removed at the end.
#pragma once
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/check.h"

namespace smartmig {

class ReachableCopy {
 public:
  explicit ReachableCopy(const std::filesystem::path& program) {
    std::string pattern = (everyones_directory() / "smartmig-test-XXXXXX").string();
    SMARTMIG_CHECK(::mkdtemp(pattern.data()), "no temporary directory {}", pattern);
    directory_ = pattern;
    ::chmod(pattern.c_str(), 0755);
    std::filesystem::copy_file(program, path());
    ::chmod(path().c_str(), 0755);
  }
  ~ReachableCopy() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  ReachableCopy(const ReachableCopy&) = delete;
  ReachableCopy& operator=(const ReachableCopy&) = delete;

  std::string path() const { return (directory_ / "program").string(); }

 private:
  // TMPDIR may be private too.
  static std::filesystem::path everyones_directory() {
    for (std::filesystem::path candidate :
         {std::filesystem::temp_directory_path(), std::filesystem::path("/var/tmp")}) {
      bool open_to_all = true;
      for (auto at = std::filesystem::absolute(candidate); at.has_relative_path(); at = at.parent_path())
        open_to_all &= (std::filesystem::status(at).permissions() & std::filesystem::perms::others_exec) !=
                       std::filesystem::perms::none;
      if (open_to_all) return candidate;
    }
    return "/tmp";
  }

  std::filesystem::path directory_;
};

}  // namespace smartmig
