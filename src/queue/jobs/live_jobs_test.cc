#include "queue/jobs/live_jobs.h"

#include <gtest/gtest.h>

#include "queue/jobs/job_json.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

struct Book {
  TempDir dir;
  std::unique_ptr<Store> store;
  std::unique_ptr<LiveJobs> book;
  std::vector<QueueId> forgotten;
  explicit Book(std::uint64_t max_bytes = 0) {
    StoreOptions options;
    options.max_bytes = max_bytes;
    auto opened = Store::open(dir.path() + "/queue.db", options);
    EXPECT_TRUE(opened);
    store = std::move(*opened);
    book = std::make_unique<LiveJobs>(*store);
  }
  JobRecord& accept(std::string script = "") {
    JobRecord job;
    job.spec.command = {"x"};
    job.spec.directory = "/";
    job.spec.script = std::move(script);
    return book->accept(std::move(job));
  }
  void end(JobRecord& job) {
    job.status.found(JobStatus::kDone);
    job.times.ended = from_unix_us(5);
    book->end(job);
  }
  bool commit() {
    return book->commit(
        {}, [] { return std::string("{}"); }, UnixTime{}, [&](QueueId id) { forgotten.push_back(id); });
  }
  JobRecord stored(QueueId id) {
    const auto row = book->stored(id);
    EXPECT_TRUE(row && *row) << number(id);
    return row && *row ? from_row(**row).value() : JobRecord();
  }
};

TEST(LiveJobs, WhatIsCommittedIsFoundByTheNextDaemon) {
  Book b;
  const QueueId first = b.accept().id, second = b.accept().id;
  b.end(*b.book->find(first));
  ASSERT_TRUE(b.commit());
  LiveJobs next(*b.store);
  ASSERT_TRUE(next.load(*b.store->start(), 0).empty());
  EXPECT_EQ(next.live().size(), 1u);
  EXPECT_TRUE(next.find(second));
  EXPECT_EQ(number(next.next_id()), number(second) + 1);
  EXPECT_EQ(next.status_of(first), JobStatus::kDone);
}

TEST(LiveJobs, JoulesOfTwoGpusBetweenTwoCommitsAddUp) {
  Book b;
  JobRecord& job = b.accept();
  job.attempt = 2;  // first on GPU 1, then on GPU 0
  job.place.gpu = 0;
  const QueueId id = job.id;
  b.end(job);
  ASSERT_TRUE(b.commit());
  LiveJobs next(*b.store);
  ASSERT_TRUE(next.load(*b.store->start(), 0).empty());
  EXPECT_TRUE(next.credit(id, 30, EnergySource::kCounter));
  next.settled(0, from_unix_us(5));
  EXPECT_TRUE(next.credit(id, 12, EnergySource::kCounter));
  ASSERT_TRUE(next.commit(
      {}, [] { return std::string("{}"); }, UnixTime{}, [](QueueId) {}));
  EXPECT_DOUBLE_EQ(b.stored(id).energy.joules, 42);
  EXPECT_EQ(b.stored(id).status, JobStatus::kDone);
}

TEST(LiveJobs, ANewJobThatCannotBeStoredIsForgottenAndItsNumberIsNotGivenAgain) {
  Book b(256 * 1024);
  const QueueId kept = b.accept().id;
  ASSERT_TRUE(b.commit());
  b.book->find(kept)->attempt = 3;
  b.book->changed(*b.book->find(kept));
  const QueueId large = b.accept(std::string(4 << 20, '#')).id;
  EXPECT_FALSE(b.commit());
  EXPECT_EQ(b.forgotten, std::vector<QueueId>{large});
  EXPECT_FALSE(b.book->find(large));
  EXPECT_FALSE(b.book->disk_trouble().empty());
  EXPECT_EQ(b.book->disk_trouble().find("cannot read"), std::string::npos) << b.book->disk_trouble();
  EXPECT_EQ(b.book->next_try(), from_unix_us(1'000'000));
  EXPECT_TRUE(b.commit()) << "what was there before is tried again";
  EXPECT_EQ(b.stored(kept).attempt, 3);
  EXPECT_GT(b.accept().id, large);
}

TEST(LiveJobs, AnEndedJobCollectsItsLastJoules) {
  Book b;
  const QueueId id = b.accept().id;
  b.book->find(id)->attempt = 1;
  b.book->find(id)->place.gpu = 0;
  EXPECT_FALSE(b.book->credit(id, 10, EnergySource::kCounter));
  b.end(*b.book->find(id));
  EXPECT_TRUE(b.book->credit(id, 5, EnergySource::kPowerIntegral));
  EXPECT_DOUBLE_EQ(b.stored(id).energy.joules, 15) << "not committed yet";
  ASSERT_TRUE(b.commit());
  b.book->settled(0, from_unix_us(5));
  EXPECT_TRUE(b.book->credit(id, 1, EnergySource::kCounter)) << "read back from the store";
  ASSERT_TRUE(b.commit());
  EXPECT_DOUBLE_EQ(b.stored(id).energy.joules, 16);
  EXPECT_EQ(b.stored(id).energy.source, EnergySource::kCounter);
}

TEST(LiveJobs, DependentsAreToldOnce) {
  Book b;
  const QueueId first = b.accept().id;
  JobRecord then;
  then.spec.command = {"x"};
  then.spec.directory = "/";
  then.spec.dependencies = {{Dependency::kAfterOk, number(first)}};
  const QueueId second = b.book->accept(std::move(then)).id;
  EXPECT_TRUE(b.book->take_queue_changed());
  EXPECT_FALSE(b.book->take_queue_changed());
  EXPECT_EQ(b.book->take_dependents(first), std::vector<QueueId>{second});
  EXPECT_TRUE(b.book->take_dependents(first).empty());
}

TEST(LiveJobs, EnvironmentAndScriptAreInTheStoreAlone) {
  Book b;
  JobRecord job;
  job.owner.uid = 1000;
  job.spec.command = {"x"};
  job.spec.directory = "/";
  job.spec.environment = {"A=" + std::string(100'000, 'e')};
  job.spec.script = "#!/bin/sh\n";
  const QueueId first = b.book->accept(job).id;
  job.spec.environment.clear();
  job.spec.script.clear();
  job.launch = b.book->find(first)->launch;
  const QueueId second = b.book->accept(job).id;  // a task of its array
  EXPECT_TRUE(b.book->find(first)->spec.environment.empty());
  EXPECT_TRUE(b.book->find(first)->spec.script.empty());
  const std::uint64_t both = b.book->bytes_of_user(1000);
  EXPECT_GT(both, 100'000u);
  EXPECT_LT(both, 110'000u) << "it counts once";
  ASSERT_TRUE(b.commit());
  for (const QueueId id : {first, second}) {
    JobSpec spec;
    ASSERT_TRUE(take_launch(spec, b.book->launch(*b.book->find(id)).value()));
    EXPECT_EQ(spec.environment.front().size(), 100'002u);
    EXPECT_EQ(spec.script, "#!/bin/sh\n");
  }
  LiveJobs next(*b.store);
  ASSERT_TRUE(next.load(*b.store->start(), 0).empty());
  EXPECT_EQ(next.bytes_of_user(1000), both);
  b.end(*b.book->find(first));
  EXPECT_GT(b.book->bytes_of_user(1000), 100'000u) << "the other still needs it";
  b.end(*b.book->find(second));
  EXPECT_EQ(b.book->bytes_of_user(1000), 0u);
}

// Rows of daemons that kept long commands with the specs.
TEST(LiveJobs, ALongCommandInASpecIsStillRead) {
  Book b;
  JobRecord job;
  job.id = QueueId(1);
  job.spec.command = {"x", std::string(100'000, 'y')};
  job.spec.directory = "/";
  StoreBatch batch;
  batch.jobs.push_back(to_row(job, true));
  ASSERT_TRUE(b.store->commit(batch));
  LiveJobs next(*b.store);
  ASSERT_TRUE(next.load(*b.store->start(), 0).empty());
  const JobRecord* found = next.find(QueueId(1));
  ASSERT_TRUE(found);
  JobSpec spec = found->spec;
  ASSERT_TRUE(next.add_launch(*found, spec));
  EXPECT_EQ(spec.command, job.spec.command);
  JobShown how;
  EXPECT_LT(to_json(*found, how).dump().size(), 10'000u);
  how.with_spec = true;
  EXPECT_EQ(to_json(*found, how)["spec"]["command"][1].get<std::string>().size(), 100'000u);
}

TEST(LiveJobs, NamesakesStandInARow) {
  Book b;
  const QueueId first = b.accept().id, second = b.accept().id, third = b.accept().id;
  EXPECT_EQ(b.book->namesake_before(*b.book->find(first)), kNoId);
  EXPECT_EQ(b.book->namesake_before(*b.book->find(third)), second);
  EXPECT_EQ(b.book->namesake_after(0, "x", first), second);
  b.end(*b.book->find(second));
  EXPECT_EQ(b.book->namesake_before(*b.book->find(third)), first);
  EXPECT_EQ(b.book->namesake_after(0, "x", third), kNoId);
}

}  // namespace
}  // namespace smartmig
