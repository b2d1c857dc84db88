#include "slurm/drained_nodes.h"

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace smartmig {
namespace {

SlurmNode drained_node(std::string reason, std::string state = "drained") {
  SlurmNode node;
  node.name = "n1";
  node.state = std::move(state);
  node.reason = std::move(reason);
  return node;
}

TEST(SlurmDrainedNodes, OnlyWhatSlurmSaysOfAFailedScriptIsResumed) {
  for (const char* reason : {"Prolog error", "Epilog error"}) EXPECT_TRUE(drained_by_hooks(drained_node(reason)));
  for (const char* reason : {"", "test", "Prolog error: Anna looks at it", "prolog error", "Kill task failed", "none"})
    EXPECT_FALSE(drained_by_hooks(drained_node(reason))) << reason;
  EXPECT_TRUE(drained_by_hooks(drained_node("Prolog error", "draining")));
  for (const char* state : {"down", "drained*", "idle", "mixed", "maint"})
    EXPECT_FALSE(drained_by_hooks(drained_node("Prolog error", state))) << state;
}

TEST(SlurmDrainedNodes, AFewTimesAnHourAlsoOverARestart) {
  TempDir dir;
  const std::string file = dir.path() + "/resumed.json";
  UnixTime now = from_unix_us(1'700'000'000'000'000);
  const auto pass = [&](int s) { now += Time(std::int64_t(s) * 1'000'000); };
  const std::vector<SlurmNode> bad{drained_node("Prolog error")}, good{drained_node("", "idle")},
      operators{drained_node("disk is broken")};
  DrainedNodes first(file, 2);
  EXPECT_TRUE(first.look(bad, now).empty()) << "at once";
  pass(11);
  auto verdicts = first.look(bad, now);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_TRUE(verdicts[0].resume);
  pass(5);
  EXPECT_TRUE(first.look(good, now).empty());
  pass(5);
  EXPECT_TRUE(first.look(bad, now).empty());
  pass(11);
  EXPECT_TRUE(first.look(bad, now).at(0).resume);

  DrainedNodes second(file, 2);  // another controller on the same state
  EXPECT_TRUE(second.look(bad, now).empty());
  pass(11);
  verdicts = second.look(bad, now);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_FALSE(verdicts[0].resume);
  EXPECT_NE(verdicts[0].words.find("State=RESUME"), std::string::npos) << verdicts[0].words;
  pass(60);
  EXPECT_TRUE(second.look(bad, now).empty()) << "told once";
  pass(3600);
  EXPECT_TRUE(second.look(operators, now).empty());
  pass(3600);
  EXPECT_TRUE(second.look(operators, now).empty()) << "an operator's drain";
  EXPECT_TRUE(second.look(bad, now).empty());
  pass(11);
  EXPECT_TRUE(second.look(bad, now).at(0).resume) << "an hour later";
}

TEST(SlurmDrainedNodes, NoneIfNoneMayBeOrNothingCanBeWritten) {
  TempDir dir;
  UnixTime now = from_unix_us(1'700'000'000'000'000);
  DrainedNodes never(dir.path() + "/resumed.json", 0);
  DrainedNodes nowhere(dir.path() + "/no/such/folder/resumed.json", 2);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(never.look({drained_node("Prolog error")}, now).empty());
    for (const auto& verdict : nowhere.look({drained_node("Prolog error")}, now)) EXPECT_FALSE(verdict.resume);
    now += Time(20'000'000);
  }
}

}  // namespace
}  // namespace smartmig
