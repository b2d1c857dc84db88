// The journal of a daemon that met what a simulation never does: jobs that overran, were cancelled, failed, were found by
// a restarted daemon. It is replayed and drawn, run by run.
#include <gtest/gtest.h>

#include <map>

#include "report/html_report.h"
#include "report/journal.h"
#include "report/journal_runs.h"
#include "report/run_dir.h"
#include "serve/api/daemon_host.h"
#include "serve/daemon/daemon.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

std::unique_ptr<DaemonHost> open_journal_station(const TempDir& dir) {
  DaemonHostOptions options;
  options.settings.places.driver = "emulate:1xa100-40gb";
  options.settings.places.state_dir = dir.path();
  options.settings.energy.sample = from_seconds(10);
  options.clock = "virtual";
  options.in_process = true;
  options.emulation_seed = 7;
  auto opened = DaemonHost::open(std::move(options));
  EXPECT_TRUE(opened) << opened.error().what;
  return opened ? std::move(*opened) : nullptr;
}

void let_journal_pass(DaemonHost& host, Time time) {
  Daemon& daemon = host.daemon();
  const UnixTime end = daemon.now() + time;
  daemon.step();
  while (daemon.now() < end) {
    host.clock().wait_until(std::min(end, daemon.next_due()));
    daemon.step();
  }
}

QueueId submit_for_journal(DaemonHost& host, const std::string& truth, int min_slices = 1) {
  JobSpec spec;
  spec.command = {"train"};
  spec.directory = "/";
  spec.estimate = from_minutes(10);
  spec.min_slices = min_slices;
  if (!truth.empty()) spec.environment = {"SMARTMIG_EMULATED_SECONDS=" + truth};
  std::vector<std::string> warnings;
  const auto ids = host.daemon().jobs().submit({1001, 1001, false}, {spec}, warnings);
  EXPECT_TRUE(ids) << ids.error().what;
  return ids ? ids->front() : kNoId;
}

std::string whole_journal_of(DaemonHost& host) {
  std::string text;
  std::uint64_t position = 0;
  for (;;) {
    const auto rows = host.store().events_after(position, 1000);
    if (!rows || rows->empty()) return text;
    for (const EventRow& row : *rows) {
      text += row.line + '\n';
      position = row.sequence;
    }
  }
}

TEST(DaemonJournal, IsReplayedAndDrawn) {
  const TempDir dir;
  auto host = open_journal_station(dir);
  ASSERT_TRUE(host);
  submit_for_journal(*host, "1:9000,2:9000,3:9000,4:9000,7:9000");
  let_journal_pass(*host, std::chrono::minutes(1));
  const auto waits = submit_for_journal(*host, "", 7);
  let_journal_pass(*host, std::chrono::minutes(30));
  ASSERT_TRUE(host->daemon().jobs().cancel(waits, "enough"));
  const auto runs = submit_for_journal(*host, "1:9000,2:9000,3:9000,4:9000,7:9000");
  let_journal_pass(*host, std::chrono::minutes(2));
  ASSERT_TRUE(host->daemon().jobs().cancel(runs, "enough"));
  let_journal_pass(*host, std::chrono::minutes(2));
  host.reset();
  host = open_journal_station(dir);
  ASSERT_TRUE(host);
  submit_for_journal(*host, "");
  let_journal_pass(*host, std::chrono::minutes(90));
  EXPECT_TRUE(host->daemon().live_jobs().empty());

  const std::string text = whole_journal_of(*host);
  const auto cut = read_journal_runs(LineReader::over("journal", text));
  ASSERT_TRUE(cut) << cut.error().what;
  ASSERT_EQ(cut->size(), 2u);
  std::map<EventKind, int> count;
  for (const JournalRun& one : *cut) {
    const auto run = replay_journal(LineReader::over("journal", one.text));
    ASSERT_TRUE(run) << run.error().what;
    for (const Event& event : (*run)->events) ++count[event.kind];
    const RunRecord& record = (*run)->record;
    const Timeline line = timeline_of(record);
    EXPECT_NEAR(line.fleet.back().joules, record.summary.energy_joules, 1e-6 * record.summary.energy_joules);
    EXPECT_GT(html_report(record, line).size(), 1000u);
    const TempDir out;
    EXPECT_TRUE(write_run_dir(out.path() + "/run", record, {}));
  }
  EXPECT_GE(count[EventKind::kOverrun], 1);
  EXPECT_GE(count[EventKind::kWithdrawn], 2);
  EXPECT_EQ(count[EventKind::kFoundRunning], 1);
  EXPECT_GE(count[EventKind::kFinished], 1);
}

}  // namespace
}  // namespace smartmig
