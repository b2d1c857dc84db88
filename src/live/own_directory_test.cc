#include "live/own_directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

int mode_of(const std::string& path) {
  struct stat entry {};
  return ::lstat(path.c_str(), &entry) == 0 ? int(entry.st_mode & 07777) : -1;
}

TEST(OwnDirectory, IsMadeForThisUserAlone) {
  const TempDir dir;
  const std::string path = dir.path() + "/a/b";
  const auto made = OwnDirectory::open(path);
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(mode_of(path), 0700);
  const auto file = made->open_file("x.lock");
  ASSERT_TRUE(file);
  ::close(*file);
  EXPECT_EQ(mode_of(path + "/x.lock"), 0600);
  EXPECT_TRUE(OwnDirectory::open(path)) << "a second time, too";
  ASSERT_TRUE(OwnDirectory::open(dir.path() + "/open", 0755));
  EXPECT_EQ(mode_of(dir.path() + "/open"), 0755);
}

TEST(OwnDirectory, RefusesWhatOthersCouldChange) {
  const TempDir dir;
  dir.link("link", dir.path());
  EXPECT_EQ(OwnDirectory::open(dir.path() + "/link").error().code, Error::kNoPermission);
  dir.file("file", "");
  EXPECT_EQ(OwnDirectory::open(dir.path() + "/file").error().code, Error::kNoPermission);
  const std::string path = dir.path() + "/shared";
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(path.c_str(), 01777), 0);
  const auto open = OwnDirectory::open(path);
  ASSERT_FALSE(open);
  EXPECT_NE(open.error().what.find("chmod go-w " + path), std::string::npos) << open.error().what;
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  const auto another = OwnDirectory::open(path);
  ASSERT_FALSE(another);
  EXPECT_NE(another.error().what.find("belongs to user 12345"), std::string::npos) << another.error().what;
}

TEST(OwnDirectory, FollowsNoLinkAndTruncatesNothing) {
  const TempDir dir;
  const std::string victim = dir.file("victim", "precious\n");
  dir.link("own/GPU-x.lock", victim);
  dir.file("own/kept.lock", "as it was\n");
  ASSERT_EQ(::link(victim.c_str(), (dir.path() + "/own/hard.lock").c_str()), 0);
  ASSERT_EQ(::mkfifo((dir.path() + "/own/fifo.lock").c_str(), 0600), 0);
  const auto own = OwnDirectory::open(dir.path() + "/own");
  ASSERT_TRUE(own);
  for (const char* name : {"GPU-x.lock", "hard.lock", "fifo.lock"})
    EXPECT_EQ(own->open_file(name).error().code, Error::kNoPermission) << name;
  const auto kept = own->open_file("kept.lock");
  ASSERT_TRUE(kept);
  ::close(*kept);
  EXPECT_EQ(read_file(victim).value(), "precious\n");
  EXPECT_EQ(read_file(dir.path() + "/own/kept.lock").value(), "as it was\n");
  EXPECT_EQ(mode_of(dir.path() + "/own/kept.lock"), 0600) << "others could have locked it";
}

}  // namespace
}  // namespace smartmig
