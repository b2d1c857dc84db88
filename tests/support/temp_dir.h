// A directory for one test, removed with all it holds at the end; in memory where that is offered.
#pragma once
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/check.h"

namespace smartmig {

class TempDir {
 public:
  TempDir() {
    const std::filesystem::path root =
        ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path();
    std::string pattern = (root / "smartmig-test-XXXXXX").string();
    SMARTMIG_CHECK(::mkdtemp(pattern.data()), "no temporary directory {}", pattern);
    path_ = pattern;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string file(const std::string& name, const std::string& text) const {
    const std::string path = path_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  void link(const std::string& name, const std::string& target) const {
    const std::string path = path_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::filesystem::create_symlink(target, path);
  }

 private:
  std::string path_;
};

}  // namespace smartmig
