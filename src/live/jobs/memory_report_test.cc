#include "live/jobs/memory_report.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "base/rng.h"
#include "live/jobs/attempt_record.h"
#include "live/jobs/memory_record.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

using Record = SmartmigMemoryRecord;

Record good(std::uint64_t pid = 41) {
  Record record{};
  record.magic = SMARTMIG_MEMORY_MAGIC;
  record.version = SMARTMIG_MEMORY_VERSION;
  record.pid = pid;
  record.begun_ns = 1;
  record.now = 1000;
  record.peak = 3000;
  record.allocations = 5;
  record.frees = 3;
  return record;
}
std::string bytes_of(const Record& record) { return {reinterpret_cast<const char*>(&record), sizeof(record)}; }

TEST(MemoryReport, ReadsARecord) {
  Record record = good();
  record.failures = 2;
  record.failed_request = 700;
  record.held_at_failure = 900;
  record.allocations_at_failure = 5;
  const auto seen = parse_memory_record(bytes_of(record));
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->pid, 41);
  EXPECT_EQ(seen->now_bytes, 1000);
  EXPECT_EQ(seen->peak_bytes, 3000);
  EXPECT_EQ(seen->allocations, 5);
  EXPECT_EQ(seen->failures, 2);
  EXPECT_EQ(seen->failed_bytes, 700);
  EXPECT_EQ(seen->held_at_failure, 900);
  EXPECT_FALSE(seen->went_on);
  record.allocations = 6;
  EXPECT_TRUE(parse_memory_record(bytes_of(record))->went_on);
}

TEST(MemoryReport, RefusesWhatIsNoRecord) {
  EXPECT_FALSE(parse_memory_record(""));
  EXPECT_FALSE(parse_memory_record(std::string(256, '\0')));
  EXPECT_FALSE(parse_memory_record(bytes_of(good()).substr(1)));
  EXPECT_FALSE(parse_memory_record(bytes_of(good()) + " "));
  Record other = good();
  other.version = 2;
  EXPECT_FALSE(parse_memory_record(bytes_of(other)));
  for (const std::uint64_t pid : {std::uint64_t(0), std::uint64_t(1) << 31, ~std::uint64_t(0)})
    EXPECT_FALSE(parse_memory_record(bytes_of(good(pid))));
}

TEST(MemoryReport, HoldsAbsurdNumbersInBounds) {
  Rng rng(7);
  for (int i = 0; i < 2000; ++i) {
    Record record = good();
    std::uint64_t* words = reinterpret_cast<std::uint64_t*>(&record);
    for (int word = 4; word < 32; ++word) words[word] = rng.below(3) ? rng.next() : ~std::uint64_t(0);
    const auto seen = parse_memory_record(bytes_of(record));
    ASSERT_TRUE(seen);
    for (const std::int64_t amount : {seen->now_bytes, seen->managed_bytes, seen->failed_bytes, seen->held_at_failure,
                                      seen->allocations, seen->frees, seen->failures, seen->untracked})
      ASSERT_GE(amount, 0);
    ASSERT_LE(seen->peak_bytes, std::int64_t(1) << 46);
    ASSERT_GE(seen->peak_bytes, seen->now_bytes);
    ASSERT_GE(seen->now_bytes, seen->managed_bytes);
    const JobMemory sum = sum_memory(std::vector<ProcessMemory>(kMemoryReportsAtMost, *seen));
    ASSERT_GE(sum.now_bytes, 0);
    ASSERT_GE(sum.needed_bytes, 0);
  }
}

TEST(MemoryReport, PassesOverEverythingElseInTheDirectory) {
  TempDir dir;
  EXPECT_TRUE(read_memory_reports(dir.path()).empty());
  EXPECT_TRUE(read_memory_reports(dir.path() + "/missing").empty());
  dir.file("41-1.mem", bytes_of(good()));
  dir.file("notes.txt", bytes_of(good()));
  dir.file("42-x.mem", bytes_of(good()));
  dir.file("43-1.mem", "");
  dir.file("44-1.mem", std::string(1 << 20, 'x'));
  dir.link("45-1.mem", dir.path() + "/41-1.mem");
  dir.link("46-1.mem", "/dev/zero");
  std::filesystem::create_directory(dir.path() + "/47-1.mem");
  ASSERT_EQ(::mkfifo((dir.path() + "/48-1.mem").c_str(), 0600), 0);
  const auto reports = read_memory_reports(dir.path());
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].pid, 41);
}

TEST(MemoryReport, AWriterThatDiedHalfWayIsReadAllTheSame) {
  TempDir dir;
  Record record = good();
  record.sequence = 7;
  dir.file("41-1.mem", bytes_of(record));
  ASSERT_EQ(read_memory_reports(dir.path()).size(), 1u);
}

TEST(MemoryReport, OfOnePidTheLastBeginsCounts) {
  TempDir dir;
  Record first = good(), second = good(), elsewhere = good();
  first.failures = 1;
  first.failed_request = 50;
  first.held_at_failure = 10;
  first.allocations_at_failure = first.allocations;
  second.begun_ns = 2;
  second.now = 20;
  elsewhere.pid_namespace = 9;  // the same number in another container
  elsewhere.now = 300;
  dir.file("41-2.mem", bytes_of(second));
  dir.file("41-1.mem", bytes_of(first));
  dir.file("41-3.mem", bytes_of(elsewhere));
  const auto reports = read_memory_reports(dir.path());
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_FALSE(reports[0].running);
  EXPECT_TRUE(reports[1].running && reports[2].running);  // namespaces not this one's: nobody can tell
  const JobMemory sum = sum_memory(reports);
  EXPECT_EQ(sum.processes, 3);
  EXPECT_EQ(sum.now_bytes, 320);
  EXPECT_EQ(sum.peak_bytes, 3000);
  EXPECT_EQ(sum.needed_bytes, 10 + 50 + 320);
}

TEST(MemoryReport, KnowsTheLivingOfItsOwnNamespace) {
  struct stat about {};
  ASSERT_EQ(::stat("/proc/self/ns/pid", &about), 0);
  TempDir dir;
  Record own = good(std::uint64_t(::getpid()));
  own.pid_namespace = about.st_ino;
  own.start_ticks = start_ticks_of(::getpid()).value();
  const std::string name = std::to_string(::getpid()) + "-1.mem";
  dir.file(name, bytes_of(own));
  EXPECT_TRUE(read_memory_reports(dir.path()).at(0).running);
  ++own.start_ticks;  // a process of that pid that is long gone
  dir.file(name, bytes_of(own));
  EXPECT_FALSE(read_memory_reports(dir.path()).at(0).running);
}

TEST(MemoryReport, WhatAJobNeededIsTheFailedRequestOnTopOfAllThatWasHeld) {
  ProcessMemory failed, neighbour, left;
  failed.now_bytes = 100;
  failed.peak_bytes = 400;
  failed.failures = 1;
  failed.held_at_failure = 100;
  failed.failed_bytes = 50;
  failed.running = false;  // died of it
  neighbour.now_bytes = 30;
  left.now_bytes = 7;
  left.exited = true;
  left.running = false;
  const JobMemory sum = sum_memory({failed, neighbour, left});
  EXPECT_EQ(sum.needed_bytes, 180);
  EXPECT_EQ(sum.now_bytes, 30);
  EXPECT_EQ(sum.peak_bytes, 400);
  failed.went_on = true;
  EXPECT_EQ(sum_memory({failed, neighbour}).needed_bytes, 0);
}

Record tensors(std::uint64_t pid, std::uint64_t now, std::uint64_t peak) {
  Record record = good(pid);
  record.magic = SMARTMIG_HELD_MAGIC;
  record.now = now;
  record.peak = peak;
  record.failures = 3;
  record.failed_request = 5;
  return record;
}

TEST(MemoryReport, WhatTensorsHoldIsCountedApart) {
  TempDir dir;
  dir.file("41-1.mem", bytes_of(good()));
  EXPECT_EQ(sum_memory(read_memory_reports(dir.path())).tensors_peak_bytes, -1);
  dir.file("41-2.held", bytes_of(tensors(41, 600, 900)));
  dir.file("42-2.held", bytes_of(tensors(42, 500, 500)));
  dir.file("43-2.held", bytes_of(good(43)));             // requests under the name of tensors
  dir.file("44-2.mem", bytes_of(tensors(44, 1, 7000)));  // and the other way round
  const auto reports = read_memory_reports(dir.path());
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_TRUE(reports[0].running && !reports[0].tensors) << "of one pid the last begun, but of each kind";
  const JobMemory sum = sum_memory(reports);
  EXPECT_EQ(sum.processes, 1);
  EXPECT_EQ(sum.now_bytes, 1000);
  EXPECT_EQ(sum.peak_bytes, 3000);
  EXPECT_EQ(sum.failures, 0);
  EXPECT_EQ(sum.needed_bytes, 0);
  EXPECT_EQ(sum.tensors_bytes, 1100);
  EXPECT_EQ(sum.tensors_peak_bytes, 1100) << "more than the larger peak";
}

TEST(MemoryReport, TensorsOfAProcessThatLeftArePast) {
  TempDir dir;
  Record left = tensors(41, 600, 900);
  left.ended = 1;
  dir.file("41-1.held", bytes_of(left));
  dir.file("42-1.held", bytes_of(tensors(42, 100, 200)));
  const JobMemory sum = sum_memory(read_memory_reports(dir.path()));
  EXPECT_EQ(sum.tensors_bytes, 100);
  EXPECT_EQ(sum.tensors_peak_bytes, 900);
}

TEST(MemoryReport, TensorsHaveBoundsToo) {
  const auto seen = parse_memory_record(bytes_of(tensors(41, ~std::uint64_t(0), 1)));
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->now_bytes, std::int64_t(1) << 46);
  EXPECT_EQ(seen->peak_bytes, seen->now_bytes);
  const JobMemory sum = sum_memory(std::vector<ProcessMemory>(kMemoryReportsAtMost, *seen));
  EXPECT_EQ(sum.tensors_bytes, std::int64_t(kMemoryReportsAtMost) << 46);
}

TEST(MemoryReport, ReadsNoMoreThanItsLimit) {
  TempDir dir;
  for (int i = 1; i <= kMemoryReportsAtMost + 50; ++i)
    dir.file(std::to_string(i) + "-1.mem", bytes_of(good(std::uint64_t(i))));
  EXPECT_EQ(read_memory_reports(dir.path()).size(), std::size_t(kMemoryReportsAtMost));
}

}  // namespace
}  // namespace smartmig
