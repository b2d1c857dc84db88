#include "cli/time_words.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace smartmig::cli {
namespace {

constexpr Time kMinute(60'000'000), kSecond(1'000'000);

class TimeWords : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* old = std::getenv("TZ")) old_ = old;
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
  void TearDown() override {
    old_.empty() ? ::unsetenv("TZ") : ::setenv("TZ", old_.c_str(), 1);
    ::tzset();
  }
  std::string old_;
  const UnixTime now_ = from_unix_us(1'794'756'600'000'000);  // 2026-11-15 15:30:00 UTC
};

TEST_F(TimeWords, DurationsAreReadAsSlurmReadsThem) {
  const std::pair<const char*, double> cases[] = {{"30m", 1800},
                                                  {"2h", 7200},
                                                  {"1h30m", 5400},
                                                  {"90", 5400},
                                                  {"1-12:00:00", 129'600},
                                                  {"1-12", 129'600},
                                                  {"1-12:30", 131'400},
                                                  {"10:30", 630},
                                                  {"01:00:00", 3600},
                                                  {"90s", 90},
                                                  {"1.5d", 129'600},
                                                  {"0", 0},
                                                  {"2 h", -1},
                                                  {"", -1},
                                                  {"-3", -1},
                                                  {"3x", -1},
                                                  {"1:2:3:4", -1},
                                                  {"nan", -1},
                                                  {"1e300", -1},
                                                  {"1-", -1},
                                                  {"999999999-00", -1}};
  for (const auto& [text, wanted] : cases) {
    const auto read = read_duration(text, kMinute);
    EXPECT_EQ(read ? seconds(*read) : -1, wanted) << text;
  }
  EXPECT_EQ(read_duration("45", kSecond).value(), Time(45'000'000));
}

TEST_F(TimeWords, InstantsAreTheNextClockTimeADateOrFromNow) {
  const auto at = [&](const char* text) {
    const auto read = read_instant(text, now_);
    return read ? seconds(*read - now_) : -1e9;
  };
  EXPECT_EQ(at("16:00"), 1800);
  EXPECT_EQ(at("15:30"), 0);
  EXPECT_EQ(at("15:00"), 86'400 - 1800) << "tomorrow";
  EXPECT_EQ(at("15:30:10"), 10);
  EXPECT_EQ(at("2026-11-15T16:00"), 1800);
  EXPECT_EQ(at("2026-11-15 16:00:30"), 1830);
  EXPECT_EQ(at("2026-11-15T16:00Z"), 1800);
  EXPECT_EQ(at("2026-11-15T16:00+01:00"), -1800);
  EXPECT_EQ(at("2026-11-15T16:00-0100"), 5400);
  EXPECT_EQ(at("2026-11-16"), 8.5 * 3600);
  EXPECT_EQ(at("now+2h"), 7200);
  EXPECT_EQ(at("now"), 0);
  for (const char* wrong : {"", "25:00", "16:60", "2026-13-01", "2026-02-30", "2026-11-15T", "2026-11-15X16:00",
                            "now-2h", "tomorrow", "2026-11-15T16:00+1"})
    EXPECT_EQ(at(wrong), -1e9) << wrong;
}

TEST_F(TimeWords, AClockTimeIsLocal) {
  ::setenv("TZ", "UTC-2", 1);  // two hours east
  ::tzset();
  EXPECT_EQ(seconds(read_instant("18:00", now_).value() - now_), 1800);
  EXPECT_EQ(seconds(read_instant("2026-11-15T18:00", now_).value() - now_), 1800);
  EXPECT_EQ(clock_words(unix_seconds(now_), unix_seconds(now_)), "17:30");
}

TEST_F(TimeWords, SizesAreMib) {
  EXPECT_EQ(read_mib("18G").value(), 18 * 1024);
  EXPECT_EQ(read_mib("18GiB").value(), 18 * 1024);
  EXPECT_EQ(read_mib("512M").value(), 512);
  EXPECT_EQ(read_mib("20480").value(), 20480);
  EXPECT_EQ(read_mib("1.5t").value(), 1536 * 1024);
  EXPECT_EQ(read_mib("1k").value(), 1);
  for (const char* wrong : {"", "G", "-1G", "1e9G", "18X", "auto"}) EXPECT_FALSE(read_mib(wrong)) << wrong;
}

TEST_F(TimeWords, TasksAreListsAndRangesWithSteps) {
  const auto plain = read_tasks("0-3%2").value();
  EXPECT_EQ(plain.tasks, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(plain.limit, 2);
  EXPECT_EQ(read_tasks("1,3,5-9:2,3").value().tasks, (std::vector<int>{1, 3, 5, 7, 9}));
  for (const char* wrong : {"", "a", "3-1", "1-", "-1", "1,,2", "0-9:0", "5:2", "0-3%0", "0-999999999", "0-3%"})
    EXPECT_FALSE(read_tasks(wrong)) << wrong;
}

TEST_F(TimeWords, WordsCarryTheirUnit) {
  EXPECT_EQ(duration_words(0), "0 s");
  EXPECT_EQ(duration_words(0.25), "0.2 s");
  EXPECT_EQ(duration_words(119), "119 s");
  EXPECT_EQ(duration_words(725), "12 min");
  EXPECT_EQ(duration_words(3 * 3600 + 300), "3 h 05 min");
  EXPECT_EQ(duration_words(200'000), "2 d 07 h");
  EXPECT_EQ(duration_words(28'799), "7 h 59 min");
  EXPECT_EQ(relative_words(1000, 280), "in 12 min");
  EXPECT_EQ(relative_words(100, 280), "3 min ago");
  EXPECT_EQ(when_words(unix_seconds(now_) + 1800, unix_seconds(now_)), "16:00 (in 30 min)");
  EXPECT_EQ(clock_words(unix_seconds(now_) + 86'400, unix_seconds(now_)), "Mon 15:30");
  EXPECT_EQ(clock_words(unix_seconds(now_) + 30 * 86'400, unix_seconds(now_)), "2026-12-15 15:30");
  EXPECT_EQ(energy_words(512.4), "512 J");
  EXPECT_EQ(energy_words(33'100), "33.1 kJ");
  EXPECT_EQ(energy_words(3.5e6), "3500.0 kJ");
  EXPECT_EQ(energy_words(4.2e6), "1.17 kWh");
  EXPECT_EQ(energy_words(1.2e9), "333 kWh");
  EXPECT_EQ(mib_words(18 * 1024), "18.0 GiB");
  EXPECT_EQ(cut("träining", 8), "träining");
  EXPECT_EQ(cut("a long name", 8), "a lon...");
  EXPECT_EQ(cut("abcdef", 2), "ab");
}

}  // namespace
}  // namespace smartmig::cli
