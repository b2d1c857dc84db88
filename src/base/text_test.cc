#include "base/text.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

TEST(Text, TrimSplitLower) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \t "), "");
  EXPECT_EQ(split("a,,b,", ','), (std::vector<std::string_view>{"a", "", "b", ""}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
  EXPECT_EQ(lower("A100-SXM"), "a100-sxm");
}

TEST(Text, NumbersAreReadWholeOrNotAtAll) {
  EXPECT_EQ(parse_int("-42"), -42);
  EXPECT_EQ(parse_int("+42"), 42);
  EXPECT_EQ(parse_int("9223372036854775807"), INT64_MAX);
  for (const char* bad : {"", "+", "-", "+-5", "++5", "4.0", "4 ", " 4", "0x10", "9223372036854775808", "four"})
    EXPECT_FALSE(parse_int(bad)) << bad;
  EXPECT_EQ(parse_double("2.5e-3"), 2.5e-3);
  EXPECT_EQ(parse_double("+.5"), 0.5);
  for (const char* bad : {"", "inf", "nan", "-inf", "1e999", "1,5", "1.5x", "+-1", " 1"})
    EXPECT_FALSE(parse_double(bad)) << bad;
}

TEST(Text, Durations) {
  EXPECT_EQ(parse_duration("30"), from_seconds(30));
  EXPECT_EQ(parse_duration("0.3s"), Time(300'000));
  EXPECT_EQ(parse_duration("1.5h"), from_seconds(5400));
  EXPECT_EQ(parse_duration("20m"), from_seconds(1200));
  EXPECT_EQ(parse_duration("2d"), from_seconds(172800));
  EXPECT_EQ(parse_duration("1e10"), from_seconds(1e10));
  for (const char* bad : {"", "s", "m", "1w", "1 s", "1e11", "200000d", "infs"})
    EXPECT_FALSE(parse_duration(bad)) << bad;
}

TEST(Text, NearestIsNearOrNothing) {
  const std::vector<std::string> names{"static", "search", "twice", "none"};
  EXPECT_EQ(nearest("statc", names), "static");
  EXPECT_EQ(nearest("serach", names), "search");
  EXPECT_EQ(nearest("one", names), "none");
  EXPECT_EQ(nearest("completely-else", names), "");
  EXPECT_EQ(nearest("x", {}), "");
  EXPECT_EQ(nearest("hodl", {"model", "hold"}), "hold") << "two neighbours changed places";
}

TEST(Text, HashesAreForEver) {
  EXPECT_EQ(hash_text(""), 5197578548964807871u);
  EXPECT_EQ(hash_text("smartmig"), 6382372711396842132u);
  EXPECT_EQ(hash_text("smartmig", 1), 17230407565406036223u);
}

}  // namespace
}  // namespace smartmig
