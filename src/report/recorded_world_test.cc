#include "report/recorded_world.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace smartmig {
namespace {

const char* const kRun =
    R"({"smartmig_journal":1,"version":"x","platform":"1xa100-40gb","power":"auto","cost":"paper","reshape":null,"a":2e-7,"days":1,"workload":"w","reference_gpu":"a100-40gb","kinds":[],"config":[["policy","p"]],"initial":[[1,["7g.40gb@0"]]]}
{"t":0,"seq":0,"ev":"submitted","job":0,"deadline":30000000,"kind":null,"work":[null,null,null,null,null,null,60000000],"mem":null,"restart":null}
{"t":0,"seq":1,"ev":"started","job":0,"gpu":0,"slice":"7g.40gb@0"}
{"t":60000000,"seq":2,"ev":"finished","job":0}
)";

std::string in_file(const std::string& text) {
  const std::string path = testing::TempDir() + "/recorded_world_test.jsonl";
  EXPECT_TRUE(write_file(path, text));
  return path;
}

TEST(RecordedWorld, HoldsTheFleetTheLinesAndTheJoules) {
  const auto world = recorded_world(in_file(kRun), {});
  ASSERT_TRUE(world) << world.error().what;
  EXPECT_EQ(world->journal, kRun);
  const auto info = nlohmann::json::parse(world->world), series = nlohmann::json::parse(world->series),
             summary = nlohmann::json::parse(world->summary);
  EXPECT_EQ(info["kind"], "recorded");
  EXPECT_EQ(info["gpus"], nlohmann::json::array({"a100-40gb"}));
  EXPECT_TRUE(info["began_at"].is_null());
  EXPECT_GT(series["joules"]["0"].get<double>(), 0);
  EXPECT_EQ(series["points"].back()[0], 60.0);
  EXPECT_EQ(summary["late_jobs"], 1);
  EXPECT_TRUE(summary["et_bound"].is_null()) << "nobody proved one";
}

TEST(RecordedWorld, ABadLineIsNamedAndNothingIsShown) {
  const auto world = recorded_world(in_file(std::string(kRun) + "{\"t\":1}\n"), {});
  ASSERT_FALSE(world);
  EXPECT_NE(world.error().what.find("line 5"), std::string::npos) << world.error().what;
  EXPECT_FALSE(recorded_world("/nowhere/journal.jsonl", {}));
  RecordedOptions third;
  third.run = 3;
  EXPECT_FALSE(recorded_world(in_file(kRun), third));
}

TEST(RecordedWorld, RunsThatSayWhenTheyBeganShareAnAxis) {
  std::string dated = kRun;
  const std::string config = R"([["policy","p"]])";
  const auto with = [&](const char* at) {
    std::string text = kRun;
    return text.replace(text.find(config), config.size(),
                        std::string(R"([["policy","p"],["began_at",")") + at + "\"]]");
  };
  const auto both = recorded_world(in_file(with("1000.5") + with("2000")), {});
  ASSERT_TRUE(both) << both.error().what;
  const auto series = nlohmann::json::parse(both->series);
  EXPECT_EQ(series["points"].front()[0], 1000.5);
  EXPECT_EQ(series["points"].back()[0], 2060.0);
  const auto undated = recorded_world(in_file(std::string(kRun) + kRun), {});
  ASSERT_TRUE(undated) << undated.error().what;
  EXPECT_EQ(undated->journal, kRun) << "the last one alone";
}

}  // namespace
}  // namespace smartmig
