// What the page asks of the daemon: the world, changes, reasons, the slices of the future, a what-if by hand.
#include "serve/api/daemon_service.h"
#include "support/daemon_queue.h"

namespace smartmig {
namespace {

using Queue = TestQueue;
using Json = nlohmann::json;

Json page_answer(Queue& q, const std::function<Result<Json>(DaemonService&)>& ask) {
  const auto got = answered<Json>(q, ask);
  EXPECT_TRUE(got) << got.error().what;
  return got ? *got : Json::object();
}

TEST(DaemonPage, TheWorldSaysWhoLooks) {
  Queue q("2xa100-40gb");
  const Json mine = page_answer(q, [&](DaemonService& s) { return s.world(q.alice); });
  EXPECT_EQ(mine["kind"], "live");
  EXPECT_EQ(mine["gpus"], Json::array({"a100-40gb", "a100-40gb"}));
  EXPECT_EQ(mine["models"]["a100-40gb"]["profiles"]["3g.20gb"]["memory_slices"], 4);
  EXPECT_TRUE(mine["signed_in"].get<bool>());
  const Json stranger = page_answer(q, [](DaemonService& s) { return s.world(Caller{}); });
  EXPECT_FALSE(stranger["signed_in"].get<bool>());
  EXPECT_EQ(stranger["user"], "");
}

TEST(DaemonPage, ChangesAreThoseSinceAVersion) {
  Queue q;
  const auto first = q.submit(q.alice, 60, [](JobSpec& s) { s.min_slices = 7; });
  q.run(1);
  const auto second = q.submit(q.alice, 30, [](JobSpec& s) { s.min_slices = 7; });
  q.run(1);
  const auto changes = [&](std::uint64_t since) {
    return page_answer(q, [=](DaemonService& s) { return s.changes(Caller{}, since); });
  };
  const Json all = changes(0);
  EXPECT_TRUE(all["whole"].get<bool>());
  ASSERT_EQ(all["jobs"].size(), 2u);
  EXPECT_EQ(all["waiting"], 1);
  for (const Json& job : all["jobs"]) EXPECT_FALSE(job.contains("command")) << job.dump();
  const Json waiting = all["jobs"][1];
  EXPECT_EQ(waiting["id"], number(second));
  EXPECT_TRUE(waiting["energy_j"].is_null()) << "not known is not zero";
  const auto version = all["version"].get<std::uint64_t>();
  const Json none = changes(version);
  EXPECT_FALSE(none["whole"].get<bool>());
  ASSERT_EQ(none["jobs"].size(), 1u) << "what runs is always there";
  EXPECT_EQ(none["jobs"][0]["id"], number(first));
  page_answer(q, [&](DaemonService& s) { return s.cancel(q.alice, number(second)); });
  q.run(1);
  const Json gone = changes(version);
  EXPECT_EQ(gone["gone"], Json::array({number(second)}));
  bool told = false;
  for (const Json& job : gone["jobs"]) told |= job["id"] == number(second) && job["state"] == "cancelled";
  EXPECT_TRUE(told) << gone.dump();
  EXPECT_TRUE(changes(version + 1'000'000)["whole"].get<bool>()) << "a version of another daemon";
}

TEST(DaemonPage, ReasonsAreThoseOfWhy) {
  Queue q;
  q.submit(q.alice, 60, [](JobSpec& s) { s.min_slices = 7; });
  q.run(1);
  const auto waits = q.submit(q.bob, 30, [](JobSpec& s) { s.min_slices = 7; });
  q.run(1);
  const Json why = page_answer(q, [&](DaemonService& s) { return s.why(q.bob, number(waits)); });
  const Json list = page_answer(q, [&](DaemonService& s) {
    return s.reasons(Caller{}, {{"ids", {number(waits), std::uint64_t{999}}}});
  });
  ASSERT_EQ(list["reasons"].size(), 1u);
  EXPECT_EQ(list["reasons"][0]["code"], why["code"]);
  ASSERT_EQ(why["blocked_by"].size(), 1u) << why.dump();
  EXPECT_EQ(why["blocked_by"][0]["job"], "1");
  EXPECT_EQ(why["blocked_by"][0]["slice"], "7g.40gb@0");
  const auto many = answered<Json>(q, [](DaemonService& s) {
    return s.reasons(Caller{}, {{"ids", std::vector<unsigned>(101, 1)}});
  });
  EXPECT_FALSE(many);
}

TEST(DaemonPage, FuturesAreThoseOfEta) {
  Queue q("2xa100-40gb");
  std::vector<QueueId> ids;
  for (int i = 0; i < 8; ++i) ids.push_back(q.submit(q.alice, 10 + 5 * i, [](JobSpec& s) { s.min_slices = 3; }));
  q.run(1);
  const Json all = page_answer(q, [](DaemonService& s) { return s.futures(Caller{}, 20); });
  EXPECT_EQ(all["futures"], 20);
  ASSERT_EQ(all["jobs"].size(), ids.size());
  for (const QueueId id : ids) {
    const Json eta = page_answer(q, [&](DaemonService& s) { return s.eta(q.alice, number(id)); });
    for (const Json& job : all["jobs"]) {
      if (job["id"] != number(id)) continue;
      for (const char* key : {"expected_start_at", "expected_finish_at", "start_at", "finish_at"})
        EXPECT_EQ(job[key], eta[key]) << number(id) << " " << key;
    }
    // The last stay of a job ends when it does.
    double last = 0;
    for (const Json& stay : all["stays"])
      if (stay["id"] == number(id) && stay["finished"].get<bool>()) last = stay["end_at"].get<double>();
    EXPECT_NEAR(last, eta["expected_finish_at"].get<double>(), 1e-3) << number(id);
  }
  const Json expected = page_answer(q, [](DaemonService& s) { return s.futures(Caller{}, 0); });
  EXPECT_TRUE(expected["jobs"][0]["start_at"].is_null());
  EXPECT_EQ(expected["stays"], all["stays"]);
}

TEST(DaemonPage, WhatIfByHand) {
  Queue q;
  q.submit(q.alice, 60, [](JobSpec& s) { s.min_slices = 7; });
  q.run(1);
  const auto second = q.submit(q.alice, 30, [](JobSpec& s) { s.min_slices = 7; });
  q.run(1);
  const auto whatif = [&](Json body) {
    return answered<Json>(q, [=](DaemonService& s) { return s.whatif(Caller{}, body); });
  };
  const auto less = whatif({{"remove", {1u}}, {"lanes", true}});
  ASSERT_TRUE(less) << less.error().what;
  ASSERT_EQ((*less)["jobs"].size(), 1u);
  EXPECT_EQ((*less)["jobs"][0]["id"], number(second));
  EXPECT_LT((*less)["jobs"][0]["finish_then_at"], (*less)["jobs"][0]["finish_now_at"]);
  EXPECT_EQ((*less)["stays"].size(), 1u);
  const auto priced = whatif({{"prices", {{"energy_per_kwh", 0.5}, {"late_per_hour", 1.0}}}});
  ASSERT_TRUE(priced) << priced.error().what;
  EXPECT_GT((*priced)["then"]["cost"].get<double>(), 0);
  EXPECT_EQ((*priced)["then"]["cost"], (*priced)["now"]["cost"]);
  const auto capped = whatif({{"power_cap_w", 0}});
  ASSERT_TRUE(capped) << capped.error().what;
  EXPECT_EQ((*capped)["then"]["energy_j"], (*capped)["now"]["energy_j"]) << "no cap, as now";
  EXPECT_FALSE(whatif({{"remove", {77u}}}));
  EXPECT_FALSE(whatif({{"power_cap_w", -1}}));
  EXPECT_FALSE(whatif({{"lanes", true}})) << "nothing is to change";
}

TEST(DaemonPage, PowerIsKeptFromBeforeSomebodyLooks) {
  Queue q("1xa100-40gb", [](DaemonHostOptions& o) { o.settings.energy_by_hour = *PriceCurve::parse("0:0.25"); });
  q.submit(q.alice, 600);
  q.run(240);
  const auto power = [&](std::uint64_t since) {
    return page_answer(q, [=](DaemonService& s) { return s.power(Caller{}, since); });
  };
  const Json all = power(0), status = page_answer(q, [](DaemonService&s) { return s.status(Caller{}); });
  ASSERT_GE(all["points"].size(), 4u) << all.dump();
  double joules = 0;
  for (const Json& point : all["points"]) {
    joules += point["energy_j"].get<double>();
    EXPECT_GT(point["watts_w"].get<double>(), 20) << point.dump();
    EXPECT_EQ(point["energy_per_kwh"], 0.25);
  }
  const Json& energy = status["energy"];
  const double booked =
      energy["counter_j"].get<double>() + energy["power_integral_j"].get<double>() + energy["model_j"].get<double>();
  EXPECT_NEAR(joules, booked, 0.1 * booked);
  const auto last = all["points"].back()["at"].get<std::uint64_t>();
  EXPECT_EQ(power(last)["points"].size(), 1u);
  EXPECT_EQ(status["prices"]["energy_by_hour"].size(), 24u);
  ASSERT_EQ(all["ahead"].size(), 1u) << "one price all day: " << all["ahead"].dump();
  EXPECT_EQ(all["ahead"][0]["energy_per_kwh"], 0.25);
  EXPECT_EQ(all["ahead"][0]["at"].get<std::int64_t>() % 3600, 0);
  EXPECT_TRUE(status["et"].is_null()) << "nothing has ended";
}

TEST(DaemonPage, EtIsThatOfEndedJobs) {
  Queue q;
  q.submit(q.alice, 20);
  q.run(60);
  const Json status = page_answer(q, [](DaemonService& s) { return s.status(Caller{}); });
  ASSERT_FALSE(status["et"].is_null()) << status.dump();
  const Json& et = status["et"];
  const double a = et["a_per_wmin"].get<double>();
  EXPECT_EQ(et["jobs"], 1);
  EXPECT_NEAR(et["value"].get<double>(),
              (a * et["energy_j"].get<double>() / 60 + et["mean_tardiness_s"].get<double>() / 60) / (a + 1), 1e-9);
}

TEST(DaemonPage, TheOperatorAppliesAPolicyAndACap) {
  Queue q("2xa100-40gb");
  const auto set = [&](const Caller& who, const Json& body) {
    return answered<Json>(q, [&](DaemonService& s) { return s.set_settings(who, body); });
  };
  EXPECT_FALSE(set(q.alice, {{"policy", "static+cedf"}})) << "not hers to change";
  const Caller root{0, 0, true};
  const auto done = set(root, {{"policy", "static+cedf"}, {"power_cap_w", 400}});
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_NE((*done)["policy"].get<std::string>().find("static+cedf"), std::string::npos);
  const Json status = page_answer(q, [](DaemonService& s) { return s.status(Caller{}); });
  EXPECT_EQ(status["power_cap_w"], 400);
  EXPECT_FALSE(set(root, {{"policy", "no-such-policy"}}));
  EXPECT_EQ(page_answer(q, [](DaemonService& s) { return s.status(Caller{}); })["policy"], status["policy"])
      << "a refused one changes nothing";
  EXPECT_TRUE(set(root, {{"power_cap_w", 0}}));
  EXPECT_TRUE(page_answer(q, [](DaemonService& s) { return s.status(Caller{}); })["power_cap_w"].is_null());
  EXPECT_FALSE(set(root, Json::object())) << "nothing to change";
}

}  // namespace
}  // namespace smartmig
