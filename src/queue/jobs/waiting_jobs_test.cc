#include "queue/jobs/waiting_jobs.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

JobRecord waiting_record(std::uint64_t id, std::uint32_t uid = 1) {
  JobRecord job;
  job.id = QueueId(id);
  job.owner.uid = uid;
  job.times.submitted = from_unix_us(std::int64_t(id));
  return job;
}

std::vector<std::uint64_t> numbers_of(const WaitingJobs& jobs, std::size_t most,
                                      const std::map<QueueId, int>& running = {}) {
  std::vector<std::uint64_t> out;
  for (const AdmissionJob& job : jobs.first(most, running)) out.push_back(job.id);
  return out;
}

using Ids = std::vector<std::uint64_t>;

TEST(WaitingJobs, EachUsersFirstInTheUsersOwnOrder) {
  WaitingJobs jobs;
  for (std::uint64_t id = 1; id <= 5; ++id) jobs.put(waiting_record(id));
  JobRecord due = waiting_record(6), high = waiting_record(7);
  due.spec.deadline = from_unix_us(1'000'000);
  high.spec.priority = 1;
  jobs.put(due);
  jobs.put(high);
  jobs.put(waiting_record(8, 2));
  EXPECT_EQ(numbers_of(jobs, 4), (Ids{7, 6, 1, 2, 8}));
  EXPECT_EQ(jobs.of_user(1), 7u);
  high.status.found(JobStatus::kRunning);
  jobs.put(high);
  due.spec.deadline.reset();
  jobs.put(due);
  jobs.erase(QueueId(1));
  EXPECT_EQ(numbers_of(jobs, 2), (Ids{2, 3, 8}));
  EXPECT_EQ(jobs.of_user(1), 5u);
  EXPECT_EQ(jobs.of_user(3), 0u);
}

TEST(WaitingJobs, WhatIsHeldIsCountedAndNotGiven) {
  WaitingJobs jobs;
  JobRecord held = waiting_record(1);
  held.status.found(JobStatus::kHeld);
  held.spec.dependencies.push_back({Dependency::kAfterOk, 9});
  jobs.put(held);
  jobs.put(waiting_record(2));
  EXPECT_EQ(numbers_of(jobs, 9), Ids{2});
  EXPECT_EQ(jobs.users(), 1u);
  EXPECT_EQ(jobs.of_user(1), 2u);
  held.status.found(JobStatus::kQueued);
  jobs.put(held);
  EXPECT_EQ(numbers_of(jobs, 9), (Ids{1, 2}));
}

TEST(WaitingJobs, OfALimitedArrayWhatItsLimitLeaves) {
  WaitingJobs jobs;
  for (std::uint64_t id = 10; id < 20; ++id) {
    JobRecord task = waiting_record(id);
    task.array.id = QueueId(10);
    task.array.index = int(id);
    task.spec.array_limit = 3;
    jobs.put(task);
  }
  jobs.put(waiting_record(30));
  jobs.put(waiting_record(5));
  EXPECT_EQ(numbers_of(jobs, 9), (Ids{5, 10, 11, 12, 30}));
  EXPECT_EQ(numbers_of(jobs, 9, {{QueueId(10), 2}}), (Ids{5, 10, 30}));
  EXPECT_EQ(numbers_of(jobs, 9, {{QueueId(10), 3}}), (Ids{5, 30}));
  for (std::uint64_t id = 10; id < 19; ++id) jobs.erase(QueueId(id));
  EXPECT_EQ(numbers_of(jobs, 9), (Ids{5, 19, 30}));
  jobs.erase(QueueId(19));
  EXPECT_EQ(numbers_of(jobs, 9), (Ids{5, 30}));
}

TEST(WaitingJobs, OfAGroupNoMoreThanMayRun) {
  WaitingJobs jobs;
  for (std::uint64_t id = 1; id <= 1000; ++id) {
    JobRecord job = waiting_record(id);
    job.spec.group = id <= 990 ? "full" : "free";
    jobs.put(job);
  }
  jobs.put(waiting_record(1001));
  Ids seen;
  for (const AdmissionJob& job : jobs.first(8, {}, {{"full", 2}})) seen.push_back(job.id);
  EXPECT_EQ(seen, (Ids{1, 2, 991, 992, 993, 994, 995, 996})) << "those of a full group do not stand before the others";
  seen.clear();
  for (const AdmissionJob& job : jobs.first(20, {}, {{"full", 0}})) seen.push_back(job.id);
  EXPECT_EQ(seen.size(), 11u);
  EXPECT_EQ(numbers_of(jobs, 3), (Ids{1, 2, 3})) << "without a limit all are alike";
}

}  // namespace
}  // namespace smartmig
