#include "serve/daemon/lost_store.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "queue/store/sqlite_db.h"
#include "queue/store/store.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

struct Lost {
  TempDir dir;
  std::string path = dir.path() + "/queue.db", spool = dir.path() + "/spool";
  Lost() {
    std::filesystem::create_directories(spool + "/7/1");
    EXPECT_TRUE(write_file(spool + "/7/1/log", "hello"));
  }
};

TEST(LostStore, AQueueThatIsThereIsNotLost) {
  Lost lost;
  EXPECT_FALSE(check_store_is_there(lost.path, lost.spool));
  ASSERT_TRUE(Store::open(lost.path));
  EXPECT_TRUE(check_store_is_there(lost.path, lost.spool));
}

TEST(LostStore, ADatabaseWithoutTablesBesideASpoolWithJobsIsLost) {
  Lost lost;
  ASSERT_TRUE(write_file(lost.path, ""));
  {
    auto db = SqliteDb::open(lost.path, SqliteDb::kReadWrite);
    ASSERT_TRUE(db);
    ASSERT_TRUE(db->run("CREATE TABLE t(x); DROP TABLE t; VACUUM"));
  }
  ASSERT_GE(std::filesystem::file_size(lost.path), 4096u);
  const auto there = check_store_is_there(lost.path, lost.spool);
  ASSERT_FALSE(there);
  EXPECT_NE(there.error().what.find("--new-queue"), std::string::npos) << there.error().what;
  std::filesystem::remove_all(lost.spool);
  EXPECT_TRUE(check_store_is_there(lost.path, lost.spool)) << "without jobs it may begin";
}

TEST(LostStore, AFileThatIsNoDatabaseNamesTheWayBack) {
  Lost lost;
  ASSERT_TRUE(write_file(lost.path, std::string(8192, 'x')));
  EXPECT_TRUE(check_store_is_there(lost.path, lost.spool)) << "the store says more of it";
  const auto opened = Store::open(lost.path);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().what.find("it is not an SQLite file; restore a backup with smartmig restore FILE"),
            std::string::npos)
      << opened.error().what;
}

}  // namespace
}  // namespace smartmig
