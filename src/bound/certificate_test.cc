#include "bound/certificate.h"

#include <gtest/gtest.h>

#include "bound/certificate_make.h"
#include "bound/checker.h"
#include "support/fixture.h"

namespace smartmig {
namespace {

using namespace fixture;

struct CertificateTest : ::testing::Test {
  std::shared_ptr<const Platform> gpus = platform("1xa100-40gb", "paper");
  std::shared_ptr<const JobTable> jobs =
      bind({job(0, 0, linear(10)), job(1, 2, linear(4)), job(2, 30, linear(1))}, *gpus);
  Certificate good = [this] {
    static const Certificate once = make_certificate(*gpus, *jobs, Objective::kEt, 1e-4).value();
    return once;
  }();
  std::string refusal(const Certificate& c) {
    const auto checked = check_certificate(c, *gpus, *jobs);
    return checked ? "" : checked.error().what;
  }
  std::string complaint(std::string text) {
    const auto parsed = parse_certificate("c.json", text);
    return parsed ? "" : parsed.error().what;
  }
  std::string changed(std::string_view from, std::string_view to) {
    std::string text = certificate_json(good);
    const auto at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    return text.replace(at, from.size(), to);
  }
};

TEST_F(CertificateTest, ReadsBackToTheSameNumbers) {
  const auto again = parse_certificate("c.json", certificate_json(good));
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(again->prices.values, good.prices.values);
  EXPECT_EQ(again->prices.windows.edges, good.prices.windows.edges);
  EXPECT_EQ(again->prices.own.values, good.prices.own.values);
  EXPECT_EQ(again->bound, good.bound);
  EXPECT_EQ(certificate_json(*again), certificate_json(good));
  EXPECT_EQ(refusal(*again), "");
  EXPECT_EQ(certified_bound(*again, *gpus, *jobs).value(), good.bound);
}

TEST_F(CertificateTest, AClaimAboveTheProofIsRefused) {
  Certificate c = good;
  c.bound *= 1 + 1e-12;
  EXPECT_NE(refusal(c).find("prove only"), std::string::npos);
  c.bound = good.bound * (1 - 1e-12);
  EXPECT_EQ(refusal(c), "");
}

TEST_F(CertificateTest, OtherPricesProveSomethingElseButNeverTooMuch) {
  Certificate c = good;
  for (double& price : c.prices.values) price *= 0.5;
  const double value = certified_bound(c, *gpus, *jobs).value();
  EXPECT_LT(value, good.bound);
}

TEST_F(CertificateTest, ATailThatEarnsIsUnbounded) {
  Certificate c = good;
  for (std::size_t k = 0; k < c.classes.size(); ++k) c.prices.values[c.prices.values.size() - 1 - k] *= 1.01;
  EXPECT_NE(refusal(c).find("so there is no bound"), std::string::npos);
}

TEST_F(CertificateTest, OwnPricesNameJobsAndWindowsThatExist) {
  ASSERT_FALSE(good.prices.own.empty());
  Certificate c = good;
  c.prices.own.spans.back().job = 3;
  EXPECT_NE(refusal(c).find("not job 3"), std::string::npos);
  c = good;
  std::swap(c.prices.own.spans.front(), c.prices.own.spans.back());
  EXPECT_NE(refusal(c).find("increasing order"), std::string::npos);
  c = good;
  c.prices.own.spans.front().first_window = std::uint32_t(c.prices.windows.count());
  EXPECT_NE(refusal(c).find("outside its windows"), std::string::npos);
  c = good;
  for (double& price : c.prices.own.values) price *= 2;
  EXPECT_NE(refusal(c).find("prove only"), std::string::npos);
  EXPECT_NE(complaint(changed("\"own\": [[", "\"own\": [[0,")).find("own"), std::string::npos);
}

TEST_F(CertificateTest, EndPricesAreNoMoreThanIdleBoardsCost) {
  ASSERT_FALSE(good.prices.ends.empty());
  Certificate c = good;
  c.prices.ends.back().price += 1e-4 * 3 * 40;
  EXPECT_NE(refusal(c).find("boards idle"), std::string::npos);
  c = good;
  c.prices.ends.push_back({3, 0});
  EXPECT_NE(refusal(c).find("not job 3"), std::string::npos);
  EXPECT_NE(complaint(changed("\"ends\": [[", "\"ends\": [[0,")).find("ends"), std::string::npos);
}

TEST_F(CertificateTest, AnotherWorkloadFleetOrPowerIsNamed) {
  const auto others = bind({job(0, 0, linear(10)), job(1, 2, linear(4)), job(2, 31, linear(1))}, *gpus);
  EXPECT_NE(certified_bound(good, *gpus, *others).error().what.find("another workload"), std::string::npos);
  const auto two = platform("2xa100-40gb", "paper");
  EXPECT_NE(certified_bound(good, *two, *jobs).error().what.find("is for 1xa100-40gb"), std::string::npos);
  const auto linear_power = platform("1xa100-40gb", "linear:40:30:250");
  EXPECT_NE(certified_bound(good, *linear_power, *jobs).error().what.find("power model paper"), std::string::npos);
}

TEST_F(CertificateTest, DamageIsNamed) {
  const std::string text = certificate_json(good);
  EXPECT_NE(complaint(text.substr(0, text.size() / 2)).find("cut off or damaged"), std::string::npos);
  EXPECT_NE(complaint("[]").find("not a certificate"), std::string::npos);
  EXPECT_NE(complaint("{}").find("not a certificate"), std::string::npos);
  EXPECT_NE(complaint(changed("\"version\": 2", "\"version\": 3")).find("version 3"), std::string::npos);
  EXPECT_NE(complaint(changed("\"world\": \"free\"", "\"world\": \"x\"")).find("world"), std::string::npos);
  EXPECT_EQ(complaint(changed("\"version\": 2, \"world\": \"free\"", "\"version\": 1")), "");
  EXPECT_NE(complaint(changed("\"objective\": \"et\"", "\"objective\": \"x\"")).find("objective"), std::string::npos);
  EXPECT_NE(complaint(changed("\"edges_us\": [0", "\"edges_us\": [1")).find("edges_us"), std::string::npos);
  EXPECT_NE(complaint(changed("\"prices\": [", "\"prices\": [[1],")).find("prices"), std::string::npos);
  EXPECT_NE(complaint(changed("\"prices\": [[", "\"prices\": [[-1")).find("prices"), std::string::npos);
  EXPECT_NE(complaint(changed("\"share\": 0", "\"share\": 2")).find("share"), std::string::npos);
  EXPECT_NE(complaint(changed("\"workload_hash\": \"", "\"workload_hash\": \"zz")).find("workload_hash"),
            std::string::npos);
}

}  // namespace
}  // namespace smartmig
