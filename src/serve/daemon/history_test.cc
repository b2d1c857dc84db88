#include "serve/daemon/history.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

TEST(History, SignaturesDropNumbers) {
  EXPECT_EQ(signature_of({"/usr/bin/python3", "train.py", "--lr", "0.1", "--model=bert", "--epochs=12", "-v", "7"}),
            "python3 train.py --lr # --model=bert --epochs=# -v #");
  EXPECT_EQ(signature_of({"a", "-1.5", "--sizes", "1,2,3", "--mem", "18G", "resnet50"}),
            "a # --sizes # --mem # resnet50");
  EXPECT_NE(signature_of({"sh"}, "echo 1"), signature_of({"sh"}, "echo 2"));
  EXPECT_EQ(signature_of({"sh"}, "echo 1"), signature_of({"/bin/sh"}, "echo 1"));
  const std::string a = signature_of({"x", std::string(500, 'a')}), b = signature_of({"x", std::string(501, 'a')});
  EXPECT_EQ(a.size(), 200u);
  EXPECT_NE(a, b);
  EXPECT_EQ(signature_of({"x\n\xff"}), "x??");
}

TEST(History, TheMedianOfWholeGpuSeconds) {
  History history;
  EXPECT_FALSE(history.forecast("x").whole_s.has_value());
  history.add("x", {300, 0.25, 4000, -1});
  Forecast one = history.forecast("x");
  EXPECT_DOUBLE_EQ(*one.whole_s, 75);
  EXPECT_EQ(*one.mem_mib, 6000) << "half as much again after a single run";
  EXPECT_GT(one.sigma, 0.3);
  for (int i = 0; i < 14; ++i) history.add("x", {75.0 + i % 3, 1, 4000, -1});
  history.add("x", {7500, 1, -1, -1});  // one outlier moves neither much
  const Forecast many = history.forecast("x");
  EXPECT_NEAR(*many.whole_s, 76, 1);
  EXPECT_LT(many.sigma, 0.2);
  EXPECT_EQ(*many.mem_mib, int(4000 * 1.08 + 0.5)) << "the margin shrinks as evidence grows";
  EXPECT_EQ(many.runs, 16);
  history.add("x", {-1, 1, -1, 10000});
  EXPECT_EQ(*history.forecast("x").mem_mib, 12500);
  EXPECT_EQ(history.forecast("x").runs, 16) << "a failure teaches memory only";
}

TEST(History, KeepsTheLastUsed) {
  History history;
  for (std::size_t i = 0; i < History::kSignatures; ++i) history.add(std::to_string(i), {1, 1, -1, -1});
  history.forecast("0");
  history.add("new", {1, 1, -1, -1});
  EXPECT_EQ(history.size(), History::kSignatures);
  EXPECT_TRUE(history.forecast("0").whole_s.has_value());
  EXPECT_FALSE(history.forecast("1").whole_s.has_value());
}

TEST(History, RoundTripAndMerge) {
  History a, b;
  a.add("x", {10, 1, 100, -1});
  a.add("y", {20, 0.5, -1, 300});
  b.add("x", {30, 1, 500, -1});
  auto read = History::parse("history", a.to_json());
  ASSERT_TRUE(bool(read)) << read.error().what;
  EXPECT_EQ(read->to_json(), a.to_json());
  a.merge(b);
  EXPECT_DOUBLE_EQ(*a.forecast("x").whole_s, 20);
  EXPECT_EQ(a.forecast("x").runs, 2);
  EXPECT_EQ(a.size(), 2u);
}

TEST(History, RefusesWhatItDidNotWrite) {
  const auto complaint = [](std::string_view text) {
    const auto result = History::parse("history", text);
    return result ? std::string("accepted") : result.error().what;
  };
  EXPECT_NE(complaint("{").find("not valid JSON"), std::string::npos);
  EXPECT_NE(complaint(R"({"smartmig_history":9,"signatures":[]})").find("version 9"), std::string::npos);
  EXPECT_NE(complaint(R"({"smartmig_history":1,"signatures":[],"more":1})").find("more"), std::string::npos);
  const char* row =
      R"({{"smartmig_history":1,"signatures":[{{"signature":"x","runs":1,"whole_s":{},"peak_mib":{}}}]}})";
  EXPECT_EQ(complaint(fmt::format(fmt::runtime(row), "[1.5]", "[3]")), "accepted");
  EXPECT_NE(complaint(fmt::format(fmt::runtime(row), "[-1]", "[]")).find("signatures[0].whole_s"), std::string::npos);
  EXPECT_NE(complaint(fmt::format(fmt::runtime(row), "[]", "[1e99]")).find("signatures[0].peak_mib"),
            std::string::npos);
  EXPECT_NE(complaint(fmt::format(fmt::runtime(row), "3", "[]")).find("whole_s must be a list"), std::string::npos);
}

}  // namespace
}  // namespace smartmig
