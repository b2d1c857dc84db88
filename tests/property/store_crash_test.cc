// A process that stores in a loop is killed at a random instant: every commit that it had acknowledged is there, the
// row of a job and its event are there both or neither, and the file is whole.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "base/rng.h"
#include "base/text.h"
#include "queue/job_record.h"
#include "queue/store/store.h"
#include "support/cases.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

StoreBatch batch_of(std::uint64_t id) {
  StoreBatch batch;
  JobRow job;
  job.id = id;
  job.spec = fmt::format("{{\"n\":{}}}", id);
  job.state = std::string(1 + id % 3000, 's');
  batch.jobs = {job};
  if (id > 3) {  // and an older one ends
    job.id = id - 3;
    job.spec.clear();
    job.final = true;
    job.status = int(JobStatus::kDone);
    batch.jobs.push_back(job);
  }
  batch.events = {{id, std::int64_t(id), fmt::format("{{\"seq\":{}}}", id)}};
  batch.values["last"] = std::to_string(id);
  return batch;
}

[[noreturn]] void store_for_ever(const std::string& path, int acknowledge) {
  auto store = Store::open(path);
  if (!store) ::_exit(2);
  const auto start = (*store)->start();
  if (!start) ::_exit(3);
  for (std::uint64_t id = start->last_job + 1;; ++id) {
    if (!(*store)->commit(batch_of(id))) ::_exit(4);
    if (id % 50 == 0 && !(*store)->prune({0, 0, 120, 60})) ::_exit(5);
    if (::write(acknowledge, &id, sizeof id) != ssize_t(sizeof id)) ::_exit(6);
  }
}

TEST(StoreCrash, EveryAcknowledgedCommitSurvivesAKill) {
  const TempDir dir;
  const std::string path = dir.path() + "/store.db";
  const std::uint64_t seed = 20261115;
  Rng rng(seed);
  std::uint64_t acknowledged = 0;
  for (int round = 0; round < cases(12); ++round) {
    SCOPED_TRACE(fmt::format("seed {} round {}", seed, round));
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) store_for_ever(path, ends[1]);
    ::close(ends[1]);
    ::usleep(useconds_t(2'000 + rng.below(60'000)));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child stopped by itself with " << WEXITSTATUS(status);
    for (std::uint64_t id = 0; ::read(ends[0], &id, sizeof id) == ssize_t(sizeof id);) acknowledged = id;
    ::close(ends[0]);

    auto store = Store::open(path);
    ASSERT_TRUE(store) << store.error().what;
    const auto start = (*store)->start();
    ASSERT_TRUE(start);
    EXPECT_GE(start->last_job, acknowledged);
    EXPECT_LE(start->last_job, acknowledged + 1);
    EXPECT_EQ(start->last_job, start->last_event);
    if (start->last_job == 0) continue;
    EXPECT_EQ(start->values.at("last"), std::to_string(start->last_job));
    EXPECT_EQ(start->live.size(), std::min<std::uint64_t>(3, start->last_job));
    const auto last = (*store)->job(start->last_job).value();
    ASSERT_TRUE(last);
    EXPECT_EQ(last->spec, batch_of(start->last_job).jobs[0].spec);
    const std::string copy = fmt::format("{}/copy-{}", dir.path(), round);
    ASSERT_TRUE((*store)->backup(copy));
    ASSERT_TRUE(restore_store(copy, dir.path() + "/checked.db"));  // which runs the integrity check
  }
  EXPECT_GT(acknowledged, 0u);
}

}  // namespace
}  // namespace smartmig
