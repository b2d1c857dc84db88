#include "serve/daemon/upkeep.h"

#include "support/daemon_parts.h"

namespace smartmig {
namespace {

TEST(Upkeep, ValuesAreSavedOnceAMinute) {
  DaemonParts p;
  const auto saved = [&] {
    p.upkeep->save_when_due(p.state->estimates, *p.visible);
    EXPECT_TRUE(p.commit());
    const auto values = p.store->start()->values;
    const auto found = values.find("accounts");
    return found == values.end() ? std::string("none") : found->second;
  };
  p.visible->charge(p.accept(60));
  EXPECT_EQ(saved(), "none");
  EXPECT_GE(p.upkeep->next_due(), p.clock.now() + std::chrono::seconds(60));
  p.pass(std::chrono::seconds(60));
  const std::string first = saved();
  EXPECT_EQ(first, p.visible->accounts());
  p.visible->charge(p.accept(60));
  EXPECT_EQ(saved(), first) << "the next minute";
  p.pass(std::chrono::seconds(60));
  EXPECT_EQ(saved(), p.visible->accounts());
}

TEST(Upkeep, WhoIsOnWhichSliceIsWrittenForTheExporter) {
  TempDir files;
  Settings settings;
  settings.places.mapping_dir = files.path() + "/jobs";
  DaemonParts p("1xa100-40gb", "4g@0+3g@4", settings);
  ASSERT_TRUE(p.upkeep->open_mapping());
  const JobRecord& job = p.run_on("3g@4");
  const int instance = find_instance(p.state->boards.at(0).board, p.place("3g@4"))->gpu_instance;
  const std::string file = fmt::format("{}/jobs/0.{}", files.path(), instance);
  p.upkeep->map_jobs(p.state->attempts, p.state->boards);
  EXPECT_TRUE(std::filesystem::exists(file));
  p.state->attempts.leave(job.id);
  p.upkeep->map_jobs(p.state->attempts, p.state->boards);
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(Upkeep, LogsGoWhenTheyAreOldAndTheirJobsLater) {
  Settings settings;
  settings.logs.keep_days = 1;
  settings.jobs.keep_days = 10;
  DaemonParts p("1xa100-40gb", "7g@0", settings);
  const QueueId id = p.accept().id;
  p.transitions->finish(*p.state->book.find(id), JobStatus::kDone, "", false);
  ASSERT_TRUE(p.commit());
  p.pass(std::chrono::minutes(1));
  p.upkeep->prune_when_due();
  EXPECT_TRUE(p.runner.forgotten.empty());
  p.pass(days(2));
  p.upkeep->prune_when_due();
  EXPECT_EQ(p.runner.forgotten, std::vector<std::uint64_t>{number(id)});
  EXPECT_TRUE(*p.store->job(number(id))) << "its row stays";
  p.pass(days(1));
  p.upkeep->prune_when_due();
  EXPECT_EQ(p.runner.forgotten.size(), 1u) << "once";
  p.pass(days(9));
  p.upkeep->prune_when_due();
  EXPECT_FALSE(*p.store->job(number(id)));
}

}  // namespace
}  // namespace smartmig
