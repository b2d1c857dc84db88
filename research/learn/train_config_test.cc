#include "research/learn/train_config.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

TEST(TrainConfig, WrittenAndReadBackIsTheSame) {
  TrainConfig config;
  config.learning_rate = 1.25e-4;
  config.hidden = {128, 64, 32};
  config.teacher = "static[1,2]+cedf";
  config.imitate_days = 3;
  config.workload = "paper:20x;paper:16x";
  config.anneal_lr = false;
  for (const bool help : {false, true}) {
    const auto back = parse_train_config("c.toml", to_toml(config, help));
    ASSERT_TRUE(back) << back.error().what;
    EXPECT_EQ(*back, config);
  }
}

TEST(TrainConfig, ErrorsNameTheLineAndTheNearestSetting) {
  const auto why = [](const char* text) { return parse_train_config("c.toml", text).error().what; };
  EXPECT_NE(why("[train]\nlerning_rate = 1\n")
                .find("c.toml:2: unknown setting train.lerning_rate, did you mean "
                      "train.learning_rate?"),
            std::string::npos);
  EXPECT_NE(why("[train]\ngamma = 2\n").find("from 0 to 1"), std::string::npos);
  EXPECT_NE(why("[train]\ngamma = 0.9\ngamma = 0.9\n").find("given twice"), std::string::npos);
  EXPECT_NE(why("[train\n").find("c.toml:1"), std::string::npos);
  EXPECT_NE(why("seed\n").find("key = value"), std::string::npos);
  EXPECT_NE(why("[train]\nminibatch = 999999\n").find("larger than a batch"), std::string::npos);
  EXPECT_NE(why("[env]\nworkload = \"a\n").find("quote"), std::string::npos);
}

TEST(TrainConfig, OptionsSetFieldsWithDashesToo) {
  TrainConfig config;
  ASSERT_TRUE(set_field(config, "train.learning-rate", "1e-4"));
  EXPECT_EQ(config.learning_rate, 1e-4);
  ASSERT_TRUE(set_field(config, "policy.hidden", "32,16"));
  EXPECT_EQ(config.hidden, (std::vector<std::int64_t>{32, 16}));
  ASSERT_TRUE(set_field(config, "train.total_jobs", "5_000_000"));
  EXPECT_FALSE(set_field(config, "train.nothing", "1"));
}

}  // namespace
}  // namespace smartmig
