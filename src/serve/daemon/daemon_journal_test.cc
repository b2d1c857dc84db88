// The journal of a daemon that met what a simulation never does: jobs that overran, were cancelled, failed, were found by
// a restarted daemon. It is replayed and drawn, run by run.
#include <gtest/gtest.h>

#include <map>

#include "report/html_report.h"
#include "report/journal.h"
#include "report/journal_runs.h"
#include "report/run_dir.h"
#include "serve/daemon/daemon.h"
#include "serve/daemon/station.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

std::unique_ptr<Station> open_journal_station(const TempDir& dir) {
  StationOptions options;
  options.config.driver = "emulate:1xa100-40gb";
  options.config.state_dir = dir.path();
  options.config.energy_sample = from_seconds(10);
  options.clock = "virtual";
  options.in_process = true;
  options.emulation_seed = 7;
  auto opened = Station::open(std::move(options));
  EXPECT_TRUE(opened) << opened.error().what;
  return opened ? std::move(*opened) : nullptr;
}

void let_journal_pass(Station& station, Time time) {
  Daemon& daemon = station.daemon();
  const Time end = daemon.now() + time;
  daemon.step();
  while (daemon.now() < end) {
    station.clock().wait_until(std::min(end, daemon.next_due()));
    daemon.step();
  }
}

std::uint64_t submit_for_journal(Station& station, const std::string& truth, int min_slices = 1) {
  JobSpec spec;
  spec.command = {"train"};
  spec.directory = "/";
  spec.estimate = from_minutes(10);
  spec.min_slices = min_slices;
  if (!truth.empty()) spec.environment = {"SMARTMIG_EMULATED_SECONDS=" + truth};
  std::vector<std::string> warnings;
  const auto ids = station.daemon().submit({1001, 1001, false}, {spec}, warnings);
  EXPECT_TRUE(ids) << ids.error().what;
  return ids ? ids->front() : 0;
}

std::string whole_journal_of(Station& station) {
  std::string text;
  std::uint64_t position = 0;
  for (;;) {
    const auto rows = station.store().events_after(position, 1000);
    if (!rows || rows->empty()) return text;
    for (const EventRow& row : *rows) {
      text += row.line + '\n';
      position = row.sequence;
    }
  }
}

TEST(DaemonJournal, IsReplayedAndDrawn) {
  const TempDir dir;
  auto station = open_journal_station(dir);
  ASSERT_TRUE(station);
  submit_for_journal(*station, "1:9000,2:9000,3:9000,4:9000,7:9000");
  let_journal_pass(*station, std::chrono::minutes(1));
  const auto waits = submit_for_journal(*station, "", 7);
  let_journal_pass(*station, std::chrono::minutes(30));
  ASSERT_TRUE(station->daemon().cancel(waits, "enough"));
  const auto runs = submit_for_journal(*station, "1:9000,2:9000,3:9000,4:9000,7:9000");
  let_journal_pass(*station, std::chrono::minutes(2));
  ASSERT_TRUE(station->daemon().cancel(runs, "enough"));
  let_journal_pass(*station, std::chrono::minutes(2));
  station.reset();
  station = open_journal_station(dir);
  ASSERT_TRUE(station);
  submit_for_journal(*station, "");
  let_journal_pass(*station, std::chrono::minutes(90));
  EXPECT_TRUE(station->daemon().live_jobs().empty());

  const std::string text = whole_journal_of(*station);
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
