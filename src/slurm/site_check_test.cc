#include "slurm/site_check.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

TEST(SlurmSiteCheck, SaysWhatToChange) {
  SiteFacts facts;
  facts.version = "22.05.8";
  facts.config = parse_slurm_config(
      "Configuration data as of 2026-11-17T18:00:00\nGresTypes               = gpu,mig\nJobSubmitPlugins        = (null)\n"
      "Prolog                  = /etc/slurm/smartmig/prolog.sh\nTaskProlog              = (null)\nPrologFlags = Alloc,Contain\n");
  facts.nodes = {{"n1", "n1", true, "idle", 16}, {"n2", "n2", true, "idle", 8}, {"n3", "n3", true, "idle", 0}};
  const Json boards =
      Json::array({{{"model", "a100-40gb"}, {"trouble", ""}}, {{"model", "a100-40gb"}, {"trouble", ""}}});
  facts.agents.emplace("n1", Json{{"boards", boards}});
  facts.agents.emplace("n2", Json{{"boards", boards}});
  std::map<std::string, SiteFinding> found;
  for (const SiteFinding& one : check_site(facts)) found[one.what] = one;
  EXPECT_TRUE(found["GresTypes"].good);
  EXPECT_FALSE(found["JobSubmitPlugins"].good);
  EXPECT_TRUE(found["PrologFlags"].good);
  EXPECT_TRUE(found["Prolog"].good);
  EXPECT_FALSE(found["TaskProlog"].good);
  EXPECT_FALSE(found["Epilog"].good);
  EXPECT_TRUE(found["node n1"].good) << found["node n1"].words;
  EXPECT_NE(found["node n2"].words.find("set mig:16"), std::string::npos);
  EXPECT_NE(found["node n3"].words.find("has no gres mig"), std::string::npos);
}

TEST(SlurmSiteCheck, SaysWhichDeviceFilesJobsMayOpen) {
  SiteFacts facts;
  const auto words = [&] {
    for (const SiteFinding& one : check_site(facts))
      if (one.what == "device files") return fmt::format("{} {}", one.good ? "ok" : "fix", one.words);
    return std::string();
  };
  facts.agents.emplace("n1", Json{{"fence", false}});
  EXPECT_TRUE(words().starts_with("ok open")) << words();
  facts.config = parse_slurm_config("Cgroup Support Configuration:\nConstrainDevices        = yes\n");
  EXPECT_TRUE(words().starts_with("fix ConstrainDevices=yes, but the agents of n1 do not")) << words();
  facts.agents.clear();
  facts.agents.emplace("n1", Json{{"fence", true}});
  EXPECT_TRUE(words().starts_with("ok a job can open only those of its own slice")) << words();
}

TEST(SlurmSiteCheck, AgentsThatDoNotAnswerAreNothingGood) {
  SiteFacts facts;
  facts.config = parse_slurm_config("ConstrainDevices        = yes\n");
  facts.nodes = {{"n1", "n1", true, "idle", 16}};
  facts.agents.emplace("n1", io_error("no route"));
  std::map<std::string, SiteFinding> found;
  for (const SiteFinding& one : check_site(facts)) found[one.what] = one;
  EXPECT_FALSE(found["device files"].good) << found["device files"].words;
  EXPECT_FALSE(found["agents"].good);
  EXPECT_NE(found["agents"].words.find("none answers"), std::string::npos);
  EXPECT_FALSE(found["node n1"].good);
  facts.agents.clear();
  found.clear();
  for (const SiteFinding& one : check_site(facts)) found[one.what] = one;
  EXPECT_FALSE(found["agents"].good) << "no agent was asked";
}

TEST(SlurmSiteCheck, NamesTheVersionsThatWereTried) {
  SiteFacts facts;
  for (const char* version : {"22.05.8", "26.05.5"}) {
    facts.version = version;
    EXPECT_EQ(check_site(facts)[0].words, version);
  }
  facts.version = "24.11.5";
  EXPECT_EQ(check_site(facts)[0].words, "24.11.5; smartmig was tested with 22.05 and 26.05");
}

}  // namespace
}  // namespace smartmig
