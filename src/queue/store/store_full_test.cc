// A store that cannot grow: a limit of its own, a full disk, a limit on the size of files.
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "support/store_rows.h"

namespace smartmig {
namespace {

using namespace store_test;

void fill_until_refused(Store& store, const std::string& path) {
  std::uint64_t id = 0;
  Result<Ok> done = Ok{};
  while (done && id < 20'000) {
    StoreBatch batch;
    batch.jobs = {row(++id, JobStatus::kQueued)};
    batch.jobs[0].state += std::string(2000, ' ');
    batch.events = {event(id)};
    done = store.commit(batch);
  }
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Error::kIo);
  EXPECT_TRUE(done.error().what.starts_with("cannot write to " + path)) << done.error().what;
  EXPECT_FALSE(store.job(id).value());
  EXPECT_TRUE(store.job(id - 1).value());
  EXPECT_EQ(store.events_after(id - 2, 10)->size(), 1u);
}

TEST(Store, AFullStoreRefusesAndKeepsWhatItHas) {
  const TempDir dir;
  const std::string path = dir.path() + "/store.db";
  StoreOptions options;
  options.max_bytes = 400'000;
  auto store = must_open(path, options);
  fill_until_refused(*store, path);
  ASSERT_TRUE(store->prune({INT64_MAX, INT64_MAX, 10, 10}));  // room again
  StoreBatch batch;
  batch.values["x"] = "y";
  EXPECT_TRUE(store->commit(batch));
}

// Orders ask before they change anything (Store::room_for).
TEST(Store, WhatIsToldToFindRoomFindsIt) {
  const TempDir dir;
  const std::string path = dir.path() + "/store.db";
  StoreOptions options;
  options.max_bytes = 800'000;
  auto store = must_open(path, options);
  ASSERT_TRUE(store->room_for(200'000));
  EXPECT_FALSE(store->room_for(900'000));
  fill_until_refused(*store, path);
  const auto full = store->room_for(200'000);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Error::kIo);
}

TEST(Store, RoomOnTheDiskIsKeptForTheNextCommit) {
  const TempDir dir;
  const std::string disk = dir.path() + "/disk";
  ASSERT_EQ(::mkdir(disk.c_str(), 0700), 0);
  if (::geteuid() != 0 || ::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=4m") != 0)
    GTEST_SKIP() << "needs the right to mount a small tmpfs";
  {
    auto store = must_open(disk + "/store.db");
    StoreBatch batch;
    batch.values["x"] = "y";
    ASSERT_TRUE(store->commit(batch));
    ASSERT_TRUE(store->room_for(1 << 20));
    EXPECT_FALSE(store->room_for(8 << 20));
    std::ofstream other(disk + "/other");  // somebody else fills the disk
    const std::string block(65'536, 'x');
    while (other.write(block.data(), std::streamsize(block.size())).flush()) {
    }
    EXPECT_FALSE(store->room_for(2 << 20));
    ASSERT_TRUE(store->room_for(1 << 20)) << "it is there already";
    batch.values["x"] = std::string(900'000, 'y');
    const auto stored = store->commit(batch);
    EXPECT_TRUE(stored) << (stored ? "" : stored.error().what);
    const auto next = store->room_for(1 << 20);
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error().code, Error::kIo);
    EXPECT_NE(next.error().what.find("free 1 MiB"), std::string::npos) << next.error().what;
  }
  ::umount(disk.c_str());
}

TEST(Store, AFullDiskRefusesAndKeepsWhatItHas) {
  const TempDir dir;
  const std::string disk = dir.path() + "/disk";
  ASSERT_EQ(::mkdir(disk.c_str(), 0700), 0);
  if (::geteuid() != 0 || ::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=1m") != 0)
    GTEST_SKIP() << "needs the right to mount a small tmpfs";
  {
    const std::string path = disk + "/store.db";
    auto store = must_open(path);
    fill_until_refused(*store, path);
    store.reset();
    if (::mount("tmpfs", disk.c_str(), "tmpfs", MS_REMOUNT, "size=4m") == 0) {
      store = must_open(path);
      StoreBatch batch;
      batch.values["x"] = "y";
      EXPECT_TRUE(store->commit(batch));
      store.reset();
      if (::mount("tmpfs", disk.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "") == 0) {
        const auto refused = Store::open(path);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, Error::kIo);
      }
    }
  }
  ::umount(disk.c_str());
}

TEST(Store, AFileThatMayNotGrowIsAnError) {  // the same without rights: a limit on the size of any file
  const TempDir dir;
  const std::string path = dir.path() + "/store.db";
  must_open(path);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit most{300'000, 300'000};
    ::setrlimit(RLIMIT_FSIZE, &most);
    auto store = must_open(path);
    fill_until_refused(*store, path);
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace smartmig
