#include "serve/config/config.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

std::string refusal(const std::string& text) {
  const auto config = parse_serve_config("serve.toml", text);
  return config ? "accepted" : config.error().what;
}

TEST(ServeConfig, AnEmptyFileIsTheDefaultsAndTheGeneratedOneReadsBackEqual) {
  const auto empty = parse_serve_config("serve.toml", "");
  ASSERT_TRUE(empty);
  EXPECT_EQ(*empty, ServeConfig());
  for (const bool comments : {true, false}) {
    const auto again = parse_serve_config("generated", to_toml(*empty, comments));
    ASSERT_TRUE(again) << again.error().what;
    EXPECT_EQ(*again, *empty);
  }
}

TEST(ServeConfig, EveryFieldTakesAnotherValueAndKeepsIt) {
  ServeConfig c;
  c.socket = "/tmp/a \"quoted\" \\ socket";
  c.driver = "emulate:2xa30-24gb";
  c.guard = true;
  c.overtaking_patience = Time(1'500'000);
  c.board_cap_w = 312.5;
  c.default_mem_mib = 4096;
  c.host_cpus = 3.5;
  c.host_mem_mib = 1000;
  c.priorities = {{"anna", 10}, {"o'brien x", -3}};
  c.tcp_hosts = {"gpu1.example.org"};
  c.tcp_allowed_origins = {"https://a.example", "https://b.example"};
  c.on_finish = "/opt/größe/fertig";
  c.priorities["jörg"] = 2;
  c.oom_patterns = {"Speicher voll: ä"};
  const auto again = parse_serve_config("again", to_toml(c, true));
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(*again, c);
}

TEST(ServeConfig, AWrongKeyNamesFileLineAndTheNearestKey) {
  EXPECT_EQ(refusal("guard = true\npolcy = \"planner\"\n"),
            "serve.toml line 2: 'polcy' is not a setting, did you mean policy?; smartmig serve --gen-config lists all");
  EXPECT_NE(refusal("[limits]\nuser_slice = 3\n")
                .find("line 2: 'limits.user_slice' is not a setting, did you mean "
                      "limits.user_slices?"),
            std::string::npos);
  EXPECT_NE(refusal("[limit]\nqueue = 3\n").find("line 1: 'limit' is not a table, did you mean limits?"),
            std::string::npos);
  EXPECT_NE(refusal("keep_days = 3").find("did you mean"), std::string::npos);
}

TEST(ServeConfig, AWrongTypeOrRangeNamesTheKey) {
  EXPECT_EQ(refusal("policy = 3"), "serve.toml line 1: policy needs a text in quotes");
  EXPECT_EQ(refusal("[limits]\n\nqueue = 0"),
            "serve.toml line 3: limits.queue needs a whole number from 1 to 10000000");
  EXPECT_NE(refusal("[defaults]\nestimate = 30").find("defaults.estimate needs a duration in quotes"),
            std::string::npos);
  EXPECT_NE(refusal("[defaults]\nmem = \"lots\"").find("defaults.mem needs \"auto\""), std::string::npos);
  EXPECT_NE(refusal("guard = \"yes\"").find("guard is true or false"), std::string::npos);
  EXPECT_NE(refusal("[oom]\npatterns = [\"a\", 3]").find("oom.patterns needs a list of texts"), std::string::npos);
  EXPECT_NE(refusal("[priorities]\nanna = \"high\"").find("priorities.anna needs a whole number"), std::string::npos);
  EXPECT_NE(refusal("policy = \"a\"\npolicy = \"b\"").find("serve.toml line 2"), std::string::npos);
  EXPECT_NE(refusal("priorities = 3").find("priorities is a table"), std::string::npos);
  EXPECT_NE(refusal("guard = [").find("serve.toml line 1"), std::string::npos);
  EXPECT_EQ(refusal("# grüße\ngröße = 3\n").substr(0, 45), "serve.toml line 2: 'größe' is not a setting");
  EXPECT_NE(refusal("guard = ä\n").find("serve.toml line 1"), std::string::npos);
  EXPECT_EQ(refusal("guard = true\n# \xff\n"), "serve.toml line 2: this is not UTF-8");
  EXPECT_EQ(refusal("guard = true\n[>]\n"), "serve.toml line 2: a table's name is malformed: write [limits]");
}

TEST(ServeConfig, TcpNeedsATokenAndACertificate) {
  EXPECT_NE(refusal("[tcp]\nlisten = \"0.0.0.0:7443\"").find("tcp.token_file"), std::string::npos);
  EXPECT_NE(refusal("[tcp]\nlisten = \"0.0.0.0:7443\"\ntoken_file = \"t\"").find("tcp.certificate"), std::string::npos);
  EXPECT_EQ(refusal("[tcp]\nlisten = \"127.0.0.1:7443\"\ntoken_file = \"t\"\ntls = false"), "accepted");
  EXPECT_NE(refusal("driver = \"cuda\"").find("driver 'cuda' is not known"), std::string::npos);
}

TEST(ServeConfig, AReloadChangesAllButWhatBelongsToTheStart) {
  ServeConfig running, wanted;
  wanted.policy = "static+cedf";
  wanted.energy_per_kwh = 0.3;
  EXPECT_TRUE(fixed_changes(running, wanted).empty());
  wanted.socket = "/tmp/other";
  wanted.seed = 9;
  wanted.tcp_listen = "127.0.0.1:1";
  EXPECT_EQ(fixed_changes(running, wanted), (std::vector<std::string>{"socket", "seed", "tcp.listen"}));
}

TEST(ServeConfig, TheQueuesOwnerGetsTheSameDefaultsAndWhatWasSet) {
  const DaemonSettings plain, from_file = settings_of(ServeConfig(), "1");
  EXPECT_EQ(from_file.policy, plain.policy);
  EXPECT_EQ(from_file.guard, plain.guard);
  EXPECT_EQ(from_file.overtaking_bound, plain.overtaking_bound);
  EXPECT_EQ(from_file.overtaking_patience, plain.overtaking_patience);
  EXPECT_EQ(from_file.default_estimate, plain.default_estimate);
  EXPECT_EQ(from_file.slack, plain.slack);
  EXPECT_EQ(from_file.keep_jobs, plain.keep_jobs);
  EXPECT_EQ(from_file.max_events, plain.max_events);
  EXPECT_FALSE(from_file.prices);
  const auto config =
      parse_serve_config("f", "[prices]\nenergy_per_kwh = 0.25\n[host]\nmem = \"auto\"\ncpus = \"auto\"");
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(settings_of(*config, "1").prices->energy_per_kwh, 0.25);
}

}  // namespace
}  // namespace smartmig
