#include "queue/config/settings_file.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

std::string refusal(const std::string& text) {
  const auto config = parse_settings("serve.toml", text);
  return config ? "accepted" : config.error().what;
}

TEST(Settings, AnEmptyFileIsTheDefaultsAndTheGeneratedOneReadsBackEqual) {
  const auto empty = parse_settings("serve.toml", "");
  ASSERT_TRUE(empty);
  EXPECT_EQ(*empty, Settings());
  for (const bool comments : {true, false}) {
    const auto again = parse_settings("generated", to_toml(*empty, comments));
    ASSERT_TRUE(again) << again.error().what;
    EXPECT_EQ(*again, *empty);
  }
}

TEST(Settings, EveryFieldTakesAnotherValueAndKeepsIt) {
  Settings c;
  c.places.socket = "/tmp/a \"quoted\" \\ socket";
  c.places.driver = "emulate:2xa30-24gb";
  c.policy.guard = true;
  c.overtaking.patience = Time(1'500'000);
  c.power.board_cap_w = 312.5;
  c.defaults.mem_mib = 4096;
  c.host.cpus = 3.5;
  c.host.mem_mib = 1000;
  c.limits.priorities = {{"anna", 10}, {"o'brien x", -3}};
  c.tcp.hosts = {"gpu1.example.org"};
  c.tcp.allowed_origins = {"https://a.example", "https://b.example"};
  c.hooks.on_finish = "/opt/größe/fertig";
  c.limits.priorities["jörg"] = 2;
  c.oom.patterns = {"Speicher voll: ä"};
  c.oom.early = "line";
  const auto again = parse_settings("again", to_toml(c, true));
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(*again, c);
}

TEST(Settings, AWrongKeyNamesFileLineAndTheNearestKey) {
  EXPECT_EQ(
      refusal("guard = true\npolcy = \"planner\"\n"),
      "serve.toml line 2: 'polcy' is not a setting, did you mean policy?; smartmig serve --gen-config lists all settings");
  EXPECT_NE(refusal("[limits]\nuser_slice = 3\n")
                .find("line 2: 'limits.user_slice' is not a setting, did you mean "
                      "limits.user_slices?"),
            std::string::npos);
  EXPECT_NE(refusal("[limit]\nqueue = 3\n").find("line 1: 'limit' is not a table, did you mean limits?"),
            std::string::npos);
  EXPECT_NE(refusal("keep_days = 3").find("did you mean"), std::string::npos);
}

TEST(Settings, AWrongTypeOrRangeNamesTheKey) {
  EXPECT_EQ(refusal("policy = 3"), "serve.toml line 1: policy must be a string in quotes");
  EXPECT_EQ(refusal("[limits]\n\nqueue = 0"),
            "serve.toml line 3: limits.queue must be a whole number from 1 to 10000000");
  EXPECT_NE(refusal("[defaults]\nestimate = 30").find("defaults.estimate must be a duration in quotes"),
            std::string::npos);
  EXPECT_NE(refusal("[defaults]\nmem = \"lots\"").find("defaults.mem must be \"auto\""), std::string::npos);
  EXPECT_NE(refusal("guard = \"yes\"").find("guard must be true or false"), std::string::npos);
  EXPECT_NE(refusal("[oom]\npatterns = [\"a\", 3]").find("oom.patterns must be a list of strings"), std::string::npos);
  EXPECT_NE(refusal("[priorities]\nanna = \"high\"").find("priorities.anna must be a whole number"), std::string::npos);
  EXPECT_NE(refusal("policy = \"a\"\npolicy = \"b\"").find("serve.toml line 2"), std::string::npos);
  EXPECT_NE(refusal("priorities = 3").find("priorities is a table"), std::string::npos);
  EXPECT_NE(refusal("guard = [").find("serve.toml line 1"), std::string::npos);
  EXPECT_EQ(refusal("# grüße\ngröße = 3\n").substr(0, 45), "serve.toml line 2: 'größe' is not a setting");
  EXPECT_NE(refusal("guard = ä\n").find("serve.toml line 1"), std::string::npos);
  EXPECT_EQ(refusal("guard = true\n# \xff\n"), "serve.toml line 2: not UTF-8");
  EXPECT_EQ(
      refusal("policy = best\"\n"),
      "serve.toml line 1: the value is no number, true, false or list: a string needs a quote before and after it");
  EXPECT_EQ(refusal("policy = \"best\nlayouts = \"3\"\n"), "serve.toml line 1: a string has no closing quote");
  EXPECT_NE(refusal("policy = \"be\x01st\"\n").find("control character"), std::string::npos);
  EXPECT_EQ(refusal("guard = true\n[>]\n"), "serve.toml line 2: a table's name is malformed: write [limits]");
}

TEST(Settings, ARemovedSettingSaysWhatReplacesIt) {
  EXPECT_EQ(refusal("guard = true\nseed = 3\n"),
            "serve.toml line 2: seed was removed: policies always use seed 1; delete the line");
  EXPECT_NE(refusal("[prelaunch]\nmem = \"4G\"").find("prelaunch.mem was removed: prelaunched jobs get a quarter"),
            std::string::npos);
  EXPECT_NE(refusal("[prelaunch]\ncpus = 2").find("a quarter of host.cpus"), std::string::npos);
}

TEST(Settings, TcpNeedsATokenAndACertificate) {
  EXPECT_NE(refusal("[tcp]\nlisten = \"0.0.0.0:7443\"").find("tcp.token_file"), std::string::npos);
  EXPECT_NE(refusal("[tcp]\nlisten = \"0.0.0.0:7443\"\ntoken_file = \"t\"").find("tcp.certificate"), std::string::npos);
  EXPECT_EQ(refusal("[tcp]\nlisten = \"127.0.0.1:7443\"\ntoken_file = \"t\"\ntls = false"), "accepted");
  EXPECT_NE(refusal("[oom]\nearly = \"soon\"").find("oom.early must be projection, line or off, not 'soon'"),
            std::string::npos);
  EXPECT_NE(refusal("driver = \"cuda\"").find("not 'cuda'"), std::string::npos);
}

TEST(Settings, AReloadChangesAllButWhatBelongsToTheStart) {
  Settings running, wanted;
  wanted.policy.name = "static+cedf";
  wanted.prices.energy_per_kwh = 0.3;
  EXPECT_TRUE(fixed_changes(running, wanted).empty());
  wanted.places.socket = "/tmp/other";
  wanted.tcp.listen = "127.0.0.1:1";
  EXPECT_EQ(fixed_changes(running, wanted), (std::vector<std::string>{"socket", "tcp.listen"}));
}

TEST(Settings, PricesAreThereOnceOneIsSet) {
  EXPECT_FALSE(Settings().priced());
  const auto settings = parse_settings("f", "[prices]\nenergy_per_kwh = 0.25\n");
  ASSERT_TRUE(settings) << settings.error().what;
  EXPECT_EQ(settings->priced()->energy_per_kwh, 0.25);
}

TEST(Settings, QuotasAreReadAndWritten) {
  const std::string text =
      "[quota]\nbeyond = \"refuse\"\n[quota.group.vision]\nslices = 14\ngpu_hours = 400\n[quota.user.default]\n"
      "energy_kwh = 2.5\n[quota.project.\"a b\"]\nslices = 7\n";
  const auto read = parse_settings("s.toml", text);
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_TRUE(read->quota.refuse);
  ASSERT_EQ(read->quota.limits.size(), 3u);
  EXPECT_EQ(read->quota.limits.at({QuotaScope::kGroup, "vision"}), (Quota{14, 400, 0}));
  EXPECT_EQ(read->quota.limits.at({QuotaScope::kUser, "default"}), (Quota{0, 0, 2.5}));
  const auto again = parse_settings("again", to_toml(*read, true));
  ASSERT_TRUE(again) << again.error().what << to_toml(*read, true);
  EXPECT_EQ(*again, *read);
  const auto fails = [](const char* toml) { return parse_settings("s.toml", toml).error().what; };
  EXPECT_EQ(fails("[quota]\nbeyond = \"stop\"\n"), "s.toml line 2: quota.beyond must be \"wait\" or \"refuse\"");
  EXPECT_EQ(fails("[quota.group.x]\ngpus = 1\n"),
            "s.toml line 2: 'quota.group.x.gpus' is not a setting; a quota has slices, gpu_hours and energy_kwh");
  EXPECT_EQ(fails("[quota.group.x]\nslices = 1.5\n"),
            "s.toml line 2: quota.group.x.slices must be a whole number from 0 to 1000000000");
  EXPECT_NE(fails("[quota.team.x]\nslices = 1\n").find("quota.team is not known"), std::string::npos);
  EXPECT_NE(fails("quota = 3\n").find("quota is a table"), std::string::npos);
}

}  // namespace
}  // namespace smartmig
