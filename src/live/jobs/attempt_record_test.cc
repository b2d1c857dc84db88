#include "live/jobs/attempt_record.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace smartmig {
namespace {

const std::string kRecord =
    "smartmig-attempt 1\njob 7\nattempt 2\nboot abc-def\npid 812\nstarted 99\ntoken 7.2-x\ncgroup /sys/a\ncgroup "
    "/sys/b\n"
    "end\n";

TEST(AttemptRecord, IsReadBack) {
  const auto record = parse_attempt_record("record", kRecord);
  ASSERT_TRUE(record) << record.error().what;
  EXPECT_FALSE(record->is_void);
  EXPECT_EQ(record->id, (AttemptId{7, 2}));
  EXPECT_EQ(record->boot_id, "abc-def");
  EXPECT_EQ(record->pid, 812);
  EXPECT_EQ(record->start_ticks, 99u);
  EXPECT_EQ(record->token, "7.2-x");
  EXPECT_EQ(record->cgroups, (std::vector<std::string>{"/sys/a", "/sys/b"}));
  EXPECT_TRUE(parse_attempt_record("record", void_record())->is_void);
}

TEST(AttemptRecord, CutNewerAndDamagedOnesAreRefused) {
  for (std::size_t size = 0; size + 1 < kRecord.size(); ++size)
    EXPECT_FALSE(parse_attempt_record("record", kRecord.substr(0, size))) << size;
  const auto newer = parse_attempt_record("record", "smartmig-attempt 2\nvoid\nend\n");
  ASSERT_FALSE(newer);
  EXPECT_NE(newer.error().what.find("format 2"), std::string::npos);
  EXPECT_FALSE(parse_attempt_record("record", "smartmig-exit 1\nend\n"));
  EXPECT_FALSE(parse_attempt_record("record", "smartmig-attempt 1\npid -4\nend\n"));
  EXPECT_FALSE(parse_attempt_record("record", "smartmig-attempt 1\npid 4\ncgroup ../up\nend\n"));
  EXPECT_FALSE(parse_attempt_record("record", "smartmig-attempt 1\nend\n"));
}

TEST(AttemptRecord, ExitsAreReadBack) {
  AttemptExit exit;
  exit.id = {7, 2};
  exit.code = -1;
  exit.signal = 9;
  exit.started = from_unix_us(1000);
  exit.ended = from_unix_us(2000);
  exit.host_oom = exit.timed_out = exit.short_of_means = true;
  exit.peak_host_mib = 12;
  exit.words = "two\nlines";
  exit.ordered = StopReason::kCancel;
  EXPECT_FALSE(parse_attempt_exit("exit", to_text(exit), {7, 2})->ran) << "a supervisor of before does not tell";
  exit.ran = Time(700);
  exit.ended_steady = Time(9000);
  const std::string text = to_text(exit);
  const auto back = parse_attempt_exit("exit", text, {7, 2});
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(back->words, "two lines");
  EXPECT_EQ(to_text(*back), text);
  EXPECT_TRUE(back->host_oom && back->timed_out && back->short_of_means && !back->never_started);
  EXPECT_EQ(back->ordered, StopReason::kCancel);
  EXPECT_FALSE(back->unasked);
  EXPECT_TRUE(parse_attempt_exit("exit", "smartmig-exit 1\nordered 0\nend\n", {7, 2})->unasked);
  EXPECT_FALSE(parse_attempt_exit("exit", "smartmig-exit 1\ncode 0\nend\n", {7, 2})->unasked) << "it does not tell";
  EXPECT_EQ(back->signal, 9);
  EXPECT_EQ(back->ran, exit.ran);
  EXPECT_EQ(back->ended_steady, exit.ended_steady);
  EXPECT_FALSE(parse_attempt_exit("exit", "smartmig-exit 1\nran_us -1\nend\n", {7, 2}));
  EXPECT_FALSE(parse_attempt_exit("exit", text.substr(0, text.size() - 2), {7, 2}));
  EXPECT_FALSE(parse_attempt_exit("exit", "smartmig-exit 1\nhost_oom 2\nend\n", {7, 2}));
  EXPECT_FALSE(parse_attempt_exit("exit", "smartmig-exit 1\nordered 7\nend\n", {7, 2}));
}

TEST(AttemptRecord, ProcessesAreKnownByTheirStart) {
  const auto own = start_ticks_of(::getpid());
  ASSERT_TRUE(own.has_value());
  EXPECT_GT(*own, 0u);
  EXPECT_FALSE(start_ticks_of(-1).has_value());
  EXPECT_EQ(this_boot().size(), 36u);
}

}  // namespace
}  // namespace smartmig
