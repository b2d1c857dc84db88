#include "live/jobs/exact_memory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/temp_dir.h"

namespace smartmig {
namespace {

class ExactMemory : public ::testing::Test {
 protected:
  void TearDown() override { ::unsetenv("SMARTMIG_PRELOAD"); }
  TempDir dir_;
};

TEST_F(ExactMemory, FindsTheNamedLibraryOrSaysWhatToDo) {
  ::setenv("SMARTMIG_PRELOAD", (dir_.path() + "/missing.so").c_str(), 1);
  EXPECT_NE(find_preload_library().error().what.find("missing.so"), std::string::npos);
  const std::string library = dir_.file("a.so", "x");
  ::setenv("SMARTMIG_PRELOAD", library.c_str(), 1);
  EXPECT_EQ(find_preload_library().value(), library);
  ::setenv("SMARTMIG_PRELOAD", dir_.file("a b.so", "x").c_str(), 1);
  EXPECT_FALSE(find_preload_library());
}

TEST_F(ExactMemory, MakesADirectoryForTheJobAlone) {
  const std::string path = dir_.path() + "/7.1";
  ASSERT_TRUE(make_memory_directory(path, ::geteuid(), ::getegid()));
  struct stat about {};
  ASSERT_EQ(::stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0700u);
  EXPECT_FALSE(make_memory_directory(path, ::geteuid(), ::getegid()));  // never one that is there
  EXPECT_FALSE(make_memory_directory("relative", ::geteuid(), ::getegid()));
  EXPECT_FALSE(make_memory_directory(dir_.path() + "/no/parent", ::geteuid(), ::getegid()));
  const std::string outside = dir_.file("outside/kept", "x");
  ::symlink((dir_.path() + "/outside").c_str(), (path + "/link").c_str());
  remove_memory_directory(path);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(std::filesystem::exists(outside));
}

TEST_F(ExactMemory, KeepsTheJobsOwnPreload) {
  const Environment plain = exact_memory_environment("/lib/a.so", "/run/d", "");
  ASSERT_EQ(plain.size(), 2u);
  EXPECT_EQ(plain[0].second, "/lib/a.so");
  EXPECT_EQ(plain[1], (std::pair<std::string, std::string>("SMARTMIG_MEMORY_DIR", "/run/d")));
  EXPECT_EQ(exact_memory_environment("/lib/a.so", "/run/d", "/b.so:/c.so")[0].second, "/lib/a.so:/b.so:/c.so");
}

}  // namespace
}  // namespace smartmig
