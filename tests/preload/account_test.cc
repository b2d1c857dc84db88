// The books of the preload library by themselves: its table against a plain map, and the record it keeps.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <thread>

#include "base/rng.h"
#include "held.h"
#include "live/jobs/memory_report.h"
#include "report.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

TEST(PreloadTable, AnswersAsAPlainMap) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    HeldTable table{};
    std::map<std::pair<std::uint64_t, bool>, Held> plain;  // by key and whether it is a handle
    for (int step = 0; step < 20000; ++step) {
      // Few different keys, so that they meet; some that differ only far up.
      const std::uint64_t key = (rng.below(1500) + 1) << (rng.below(4) * 12);
      const std::uint32_t kind = std::uint32_t(kHeldDevice + rng.below(3));
      const std::pair name(key, kind == kHeldHandle);
      Held* found = held_find(&table, key, kind);
      ASSERT_EQ(found != nullptr, plain.contains(name));
      if (found) {
        ASSERT_EQ(found->size, plain[name].size);
      }
      if (found && rng.below(2)) {
        held_erase(&table, found);
        plain.erase(name);
      } else {
        const Held held{key, kind, 1, 0, rng.below(1000000), 0};
        ASSERT_NE(held_put(&table, &held), nullptr);
        plain[name] = held;
      }
      ASSERT_EQ(table.count, plain.size());
    }
    for (const auto& [name, held] : plain) {
      const Held* found = held_find(&table, name.first, held.kind);
      ASSERT_NE(found, nullptr);
      ASSERT_EQ(found->size, held.size);
    }
    held_clear(&table);
    EXPECT_EQ(held_find(&table, 1, kHeldDevice), nullptr);
  }
}

// One process has one record, so these share it and look at differences.
class PreloadAccount : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = new TempDir;
    ::setenv("SMARTMIG_MEMORY_DIR", directory_->path().c_str(), 1);
    ASSERT_TRUE(report_wanted());
  }
  static void TearDownTestSuite() { delete directory_; }
  static ProcessMemory own() {
    const auto all = read_memory_reports(directory_->path());
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? ProcessMemory() : all[0];
  }
  static inline TempDir* directory_ = nullptr;
};

TEST_F(PreloadAccount, CountsAndKeepsErrno) {
  report_allocated(1, kHeldDevice, 1);
  const ProcessMemory before = own();
  errno = 99;
  report_allocated(100, kHeldDevice, 1000);
  report_allocated(200, kHeldManaged, 500);
  EXPECT_EQ(own().now_bytes, before.now_bytes + 1500);
  EXPECT_EQ(own().managed_bytes, before.managed_bytes + 500);
  report_failed(7000);
  EXPECT_EQ(own().failed_bytes, 7000);
  EXPECT_EQ(own().held_at_failure, before.now_bytes + 1500);
  EXPECT_FALSE(own().went_on);
  Held taken = report_take(100, kHeldDevice);
  EXPECT_EQ(own().now_bytes, before.now_bytes + 500);
  report_put_back(&taken);
  EXPECT_EQ(own().now_bytes, before.now_bytes + 1500);
  EXPECT_EQ(own().frees, before.frees);
  taken = report_take(100, kHeldDevice);
  EXPECT_EQ(report_take(100, kHeldDevice).kind, 0u);  // twice is once
  taken = report_take(200, kHeldDevice);              // cuMemFree takes managed memory too
  EXPECT_EQ(own().now_bytes, before.now_bytes);
  EXPECT_EQ(own().managed_bytes, before.managed_bytes);
  report_allocated(300, kHeldDevice, 10);
  report_allocated(300, kHeldDevice, 30);  // the same address again: the first went with its context
  EXPECT_EQ(own().now_bytes, before.now_bytes + 30);
  EXPECT_TRUE(own().went_on);
  report_take(300, kHeldDevice);
  EXPECT_EQ(errno, 99);
}

TEST_F(PreloadAccount, AFailedReleaseOfAMappedHandleChangesNothing) {
  const std::int64_t before = (report_allocated(7, kHeldHandle, 64), own().now_bytes);
  report_mapped(0x1000, 64, 7);
  const Held taken = report_take(7, kHeldHandle);
  report_put_back(&taken);
  report_unmapped(0x1000, 64);
  EXPECT_EQ(own().now_bytes, before);
  report_take(7, kHeldHandle);
  EXPECT_EQ(own().now_bytes, before - 64);
  report_mapped(0x2000, 64, 12345);  // imported memory: walked over, never counted
  report_unmapped(0x2000, 1 << 20);
  EXPECT_EQ(own().now_bytes, before - 64);
}

TEST_F(PreloadAccount, ThreadsLoseNothingAndReadersSeeWholeRecords) {
  report_allocated(1, kHeldDevice, 1);
  const ProcessMemory before = own();
  std::atomic<bool> done = false;
  std::thread reader([&] {
    while (!done) {
      const ProcessMemory seen = own();
      EXPECT_EQ((seen.now_bytes - before.now_bytes) % 2, 0);
      EXPECT_GE(seen.peak_bytes, seen.now_bytes);
      EXPECT_GE(seen.allocations - before.allocations, seen.frees - before.frees);
    }
  });
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (std::uint64_t i = 0; i < 5000; ++i) {
        report_allocated((t + 1) * 1000000 + i, kHeldDevice, 2 * (i % 100 + 1));
        if (i % 2) report_take((t + 1) * 1000000 + i, kHeldDevice);
      }
      for (std::uint64_t i = 0; i < 5000; i += 2) report_take((t + 1) * 1000000 + i, kHeldDevice);
    });
  for (std::thread& thread : threads) thread.join();
  done = true;
  reader.join();
  const ProcessMemory after = own();
  EXPECT_EQ(after.now_bytes, before.now_bytes);
  EXPECT_EQ(after.allocations - before.allocations, 20000);
  EXPECT_EQ(after.frees - before.frees, 20000);
  EXPECT_EQ(after.untracked, 0);
}

}  // namespace
}  // namespace smartmig
