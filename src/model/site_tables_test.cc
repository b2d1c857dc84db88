#include "model/site_tables.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>

#include "base/file.h"
#include "mig/catalog.h"
#include "model/power.h"
#include "model/speed.h"

namespace smartmig {
namespace {

const std::string kSpeeds = "kind,gpu,profile,throughput,unit,mem_mib,source\n";
const std::string kWatts = "model,kind,profile,watts,source\n";

class SiteTables : public ::testing::Test {
 protected:
  std::string file(const std::string& text) {
    paths_.push_back(testing::TempDir() + "site_tables_" + std::to_string(::getpid()) + "_" +
                     std::to_string(paths_.size()));
    EXPECT_TRUE(write_file(paths_.back(), text));
    return paths_.back();
  }
  void TearDown() override {
    for (const std::string& path : paths_) std::remove(path.c_str());
    ::unsetenv(kSpeedsVariable);
    ::unsetenv(kPowerVariable);
  }
  std::vector<std::string> paths_;
};

TEST_F(SiteTables, ReplaceAKindOnAGpuWhole) {
  const std::string first =
      file(kSpeeds + "bert-train-8,a100-40gb,2g.10gb,3,x/s,,site\nnew-kind,a100-40gb,1g.5gb,1,x/s,700,site\n");
  const std::string second = file(kSpeeds + "new-kind,a100-40gb,7g.40gb,9,x/s,800,later\n");
  const auto table = SpeedTable::with_files({first, second});
  ASSERT_TRUE(table) << table.error().what;
  EXPECT_EQ(table->throughput("bert-train-8", "a100-40gb", "2g.10gb"), 3);
  EXPECT_EQ(table->throughput("bert-train-8", "a100-40gb", "7g.40gb"), std::nullopt)
      << "a figure of another measurement does not compare";
  EXPECT_EQ(table->throughput("new-kind", "a100-40gb", "7g.40gb"), 9);
  EXPECT_EQ(table->throughput("new-kind", "a100-40gb", "1g.5gb"), std::nullopt) << "the later file wins";
  const auto plain = SpeedTable::with_files({});
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->has("new-kind"));
  EXPECT_EQ(table->throughput("bert-train-4", "a100-40gb", "7g.40gb"),
            plain->throughput("bert-train-4", "a100-40gb", "7g.40gb"));
}

TEST_F(SiteTables, ErrorsNameFileAndLine) {
  for (const char* row : {"k,a100-40gb,9g.1gb,1,x,,s\n", "k,nogpu,1g.5gb,1,x,,s\n", "k,a100-40gb,1g,1,x,,s\n",
                          "k,a100-40gb,1g.5gb,0,x,,s\n", "k,a100-40gb,1g.5gb,1,x,,\n"}) {
    const std::string path = file(kSpeeds + "k,a100-40gb,2g.10gb,1,x,,s\n" + row);
    const auto bad = SpeedTable::with_files({path});
    ASSERT_FALSE(bad) << row;
    EXPECT_NE(bad.error().what.find(path), std::string::npos) << bad.error().what;
    EXPECT_NE(bad.error().what.find("line 3"), std::string::npos) << bad.error().what;
  }
  for (const char* row : {"nomodel,k,1g.5gb,100,s\n", "paper,k,1g.5gb,100,s\n", "a100-jobs,k,9g.5gb,100,s\n",
                          "a100-jobs,k,1g.5gb,-3,s\n", "h200,k,1g.5gb,300,s\n", "a100-jobs,,1g.5gb,100,s\n"}) {
    const std::string path = file(kWatts + row);
    const auto bad = check_power_files({path});
    ASSERT_FALSE(bad) << row;
    EXPECT_NE(bad.error().what.find(path + " line 2"), std::string::npos) << bad.error().what;
  }
  EXPECT_TRUE(check_power_files({file(kWatts + "a100-jobs,k,1g.5gb,60,s\nh200,k,1g.18gb,300,s\n")}));
}

TEST_F(SiteTables, TheEnvironmentNamesThem) {
  EXPECT_TRUE(check_site_tables());
  EXPECT_TRUE(site_files(kSpeedsVariable).empty());
  const std::string good = file(kSpeeds + "k,a100-40gb,1g.5gb,1,x,,s\n");
  ::setenv(kSpeedsVariable, (good + "::" + good).c_str(), 1);
  EXPECT_EQ(site_files(kSpeedsVariable), (std::vector<std::string>{good, good}));
  EXPECT_TRUE(check_site_tables());
  ::setenv(kPowerVariable, (good + "-is-not-there").c_str(), 1);
  const auto missing = check_site_tables();
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().what.find(kPowerVariable), std::string::npos) << missing.error().what;
}

// Embedded rows of the additive model keep their meaning: utilisation from the whole GPU.
TEST_F(SiteTables, EmbeddedWattsAreAsTheyWere) {
  const auto gpu = Catalog::builtin().find("a100-40gb");
  ASSERT_TRUE(gpu);
  const auto power = PowerModel::named("a100-jobs", **gpu);
  ASSERT_TRUE(power);
  const Profile& whole = (*gpu)->profiles()[std::size_t((*gpu)->find_profile("7g.40gb"))];
  const Profile& one = (*gpu)->profiles()[std::size_t((*gpu)->find_profile("1g.5gb"))];
  EXPECT_NEAR(power->added("bert-train-2", whole), 160.56 - 40, 1e-9);
  EXPECT_NEAR(power->added("bert-train-2", one), (160.56 - 40) / 7, 1e-9);
  EXPECT_NEAR(power->added("not-measured", one), 30, 1e-9);
}

}  // namespace
}  // namespace smartmig
