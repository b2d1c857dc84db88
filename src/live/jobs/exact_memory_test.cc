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

TEST_F(ExactMemory, FindsTheHookBesideTheLibraryOrWhereThatWouldBe) {
  ::setenv("SMARTMIG_PRELOAD", (dir_.path() + "/missing.so").c_str(), 1);
  EXPECT_NE(find_python_hook().error().what.find(dir_.path()), std::string::npos);
  dir_.file("python/sitecustomize.py", "x");
  EXPECT_EQ(find_python_hook().value(), dir_.path() + "/python");
  dir_.file("a:b/python/sitecustomize.py", "x");
  ::setenv("SMARTMIG_PRELOAD", (dir_.path() + "/a:b/missing.so").c_str(), 1);
  EXPECT_NE(find_python_hook().error().what.find("colon"), std::string::npos);
}

TEST_F(ExactMemory, KeepsWhatTheJobHasItself) {
  EXPECT_EQ(put_first("/lib/a.so", ""), "/lib/a.so");
  EXPECT_EQ(put_first("/lib/a.so", "/b.so:/c.so"), "/lib/a.so:/b.so:/c.so");
  EXPECT_EQ(put_first("/hook", "/x::/y:"), "/hook:/x::/y:") << "the current directory";
  EXPECT_EQ(put_first("/hook", "/x:/hook:/y"), "/hook:/x:/y") << "of a job that was submitted by a job";
  EXPECT_EQ(put_first("/hook", "/hook"), "/hook");
}

}  // namespace
}  // namespace smartmig
