#include "slurm/job_logs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "cluster/memory_failure.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

const std::vector<std::string> kOomWords = {"CUDA out of memory"};

TEST(JobLogs, NamesAsSbatchWritesThem) {
  SlurmJob job;
  job.name = {12, -1};
  job.number = 12;
  job.directory = "/data/a";
  job.user = "ann";
  job.title = "train";
  job.nodes = "n1";
  using Paths = std::vector<std::string>;
  EXPECT_EQ(log_paths(job), Paths{"/data/a/slurm-12.out"});
  job.output = "/logs/%u/%x-%5j-%N%%.out";
  job.errors = "err-%j";
  EXPECT_EQ(log_paths(job), (Paths{"/logs/ann/train-00012-n1%.out", "/data/a/err-12"}));
  job.output = "%";
  job.errors = "a%q";
  EXPECT_EQ(log_paths(job), Paths{});
  job.output = "a\\%j";
  EXPECT_EQ(log_paths(job), Paths{});
  job.name = {12, 3};
  job.number = 15;
  job.output = job.errors = "";
  EXPECT_EQ(log_paths(job), Paths{"/data/a/slurm-12_3.out"});
  job.directory.clear();
  EXPECT_EQ(log_paths(job), Paths{}) << "nobody knows where";
}

TEST(JobLogs, TheEndOfAnOwnedPlainFileTells) {
  const TempDir dir;
  const std::string log = dir.path() + "/log", other = dir.path() + "/other";
  const std::string words = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has\n";
  ASSERT_TRUE(write_file(log, std::string(300'000, 'x') + words));
  ASSERT_TRUE(write_file(other, words + std::string(300'000, 'x')));
  const auto failed = memory_failure_in({dir.path() + "/none", log}, ::getuid(), kOomWords);
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->asked_mib, 20480);
  EXPECT_FALSE(memory_failure_in({other}, ::getuid(), kOomWords)) << "long before the end";
  EXPECT_FALSE(memory_failure_in({log}, ::getuid(), {"", "no such words"}));
  EXPECT_FALSE(memory_failure_in({log}, ::getuid() + 1, kOomWords)) << "another user's file";
}

TEST(JobLogs, WhatIsNoPlainFileIsNotOpened) {
  const TempDir dir;
  const std::string log = dir.path() + "/log", link = dir.path() + "/link", pipe = dir.path() + "/pipe";
  ASSERT_TRUE(write_file(log, "CUDA out of memory"));
  std::filesystem::create_symlink(log, link);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  // A pipe without a writer would hang whoever opens it.
  EXPECT_FALSE(memory_failure_in({link, pipe, "/dev/zero", dir.path(), ""}, ::getuid(), kOomWords));
  EXPECT_TRUE(memory_failure_in({log}, ::getuid(), kOomWords));
}

}  // namespace
}  // namespace smartmig
