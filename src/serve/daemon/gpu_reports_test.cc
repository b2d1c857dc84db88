#include "serve/daemon/gpu_reports.h"

#include "base/json.h"
#include "support/daemon_parts.h"

namespace smartmig {
namespace {

// The journal's notes of this kind, each of which must be a line of JSON.
std::vector<Json> notes_of(DaemonParts& p, const std::string& kind) {
  std::vector<Json> out;
  EXPECT_TRUE(p.commit());
  const auto rows = p.store->events_after(0, 1000);
  for (const EventRow& row : *rows) {
    const auto json = parse_json("the journal", row.line);
    EXPECT_TRUE(json) << row.line;
    if (json && json->value("note", "") == kind) out.push_back(*json);
  }
  return out;
}

TEST(GpuReports, ABoardThatIsLostIsBlockedAndItsJobsAreStopped) {
  DaemonParts p;
  const JobRecord& job = p.run_on("3g@4");
  p.driver->inject(FakeDriver::Fault::kLost, GpuId{0});
  p.sample();
  EXPECT_EQ(p.state->boards.at(0).trouble, GpuTrouble::kLost);
  EXPECT_TRUE(p.believed(0).blocked);
  EXPECT_FALSE(p.believed(1).blocked);
  EXPECT_EQ(job.status, JobStatus::kStopping);
  EXPECT_EQ(job.stop_reason, StopReason::kGpuFailed);
  EXPECT_TRUE(p.runner.stopped.empty()) << "nothing happens before it is stored";
  EXPECT_EQ(notes_of(p, "quarantined").size(), 1u);
  p.attempts->carry_out();
  EXPECT_EQ(p.runner.stopped, std::vector<AttemptId>{attempt_of(job)});
}

TEST(GpuReports, WordsThatAreNotUtf8ReachTheJournal) {
  DaemonParts p;
  p.reports->set_trouble(0, GpuTrouble::kQuarantined, "Xid \xFF\xFE \"48\"\n");
  const auto notes = notes_of(p, "quarantined");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0]["words"], "Xid \\xFF\\xFE \"48\"\n");
  EXPECT_TRUE(Reshaper::open(*p.driver, p.dir.path())) << "the quarantine file can be read again";
}

TEST(GpuReports, ADrainIsToldToTheBeliefAndStored) {
  DaemonParts p;
  ASSERT_TRUE(p.reports->drain(1, true));
  p.tell_all();
  EXPECT_TRUE(p.believed(1).blocked);
  ASSERT_TRUE(p.commit());
  EXPECT_EQ(p.store->start()->values.at("drained"), "1");
  ASSERT_TRUE(p.reports->drain(1, false));
  p.tell_all();
  EXPECT_FALSE(p.believed(1).blocked);
  EXPECT_FALSE(p.reports->drain(7, true));
}

TEST(GpuReports, AGpuThatWasResetIsBelievedAsItIsOnceItReturns) {
  DaemonParts p;
  p.driver->inject(FakeDriver::Fault::kLost, GpuId{0});
  p.sample();
  ASSERT_EQ(p.state->boards.at(0).trouble, GpuTrouble::kLost);
  p.driver->reset(GpuId{0});
  ASSERT_TRUE(p.reports->drain(0, false));
  p.reports->believe_again();
  p.tell_all();
  EXPECT_TRUE(p.believed(0).layout.empty());
  EXPECT_FALSE(p.believed(0).blocked);
  EXPECT_EQ(notes_of(p, "gpu_read_again").size(), 1u);
}

TEST(GpuReports, AGpuInServiceIsReadAgainOnRequest) {
  DaemonParts p;
  p.driver->reset(GpuId{0});  // unseen
  ASSERT_TRUE(p.state->boards.at(0).in_service());
  ASSERT_FALSE(p.believed(0).layout.empty());
  ASSERT_TRUE(p.reports->drain(0, false));
  p.reports->believe_again();
  p.tell_all();
  EXPECT_TRUE(p.believed(0).layout.empty());
  EXPECT_FALSE(p.believed(0).blocked);
  EXPECT_EQ(notes_of(p, "gpu_read_again").size(), 1u);
}

TEST(GpuReports, AGpuDoesNotReturnWithSlicesOfSomebodyElse) {
  DaemonParts p("2xa100-40gb", "4g@0");
  ASSERT_TRUE(p.reports->drain(0, true));
  ASSERT_TRUE(p.driver->create_foreign(GpuId{0}, p.place("3g@4")));
  const auto back = p.reports->drain(0, false);
  ASSERT_FALSE(back);
  EXPECT_NE(back.error().what.find("smartmig did not create"), std::string::npos) << back.error().what;
  EXPECT_FALSE(p.state->boards.at(0).in_service());
}

TEST(GpuReports, AnOperationThatFailsIsNotedAndChangesNothing) {
  DaemonParts p("1xa100-40gb", "3g@4");
  p.driver->inject(FakeDriver::Fault::kCreateRefused, GpuId{0});
  p.state->boards.lanes().create(GpuId{0}, p.place("3g@0"));
  p.wait_for_lanes();
  p.reports->take();
  p.tell_all();
  const auto notes = notes_of(p, "operation_failed");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0]["slice"], "3g.20gb@0");
  EXPECT_FALSE(p.believed(0).layout.contains(p.place("3g@0")));
  EXPECT_EQ(p.state->figures.reconfigurations().begin()->second, 1u);
  EXPECT_EQ(p.state->boards.at(0).failing.times, 1);
  EXPECT_EQ(p.state->boards.at(0).failing.what, "creating 3g.20gb@0");
  EXPECT_GT(p.state->boards.at(0).failing.next_try, p.clock.now());
}

}  // namespace
}  // namespace smartmig
