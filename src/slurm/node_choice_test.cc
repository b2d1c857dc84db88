#include "slurm/node_choice.h"

#include <gtest/gtest.h>

#include "slurm/host_list.h"

namespace smartmig {
namespace {

using Names = std::vector<std::string>;

TEST(SlurmHostList, IsTakenApart) {
  EXPECT_EQ(*expand_host_list("n[1-3,05],login1"), (Names{"n1", "n2", "n3", "n05", "login1"}));
  EXPECT_EQ(*expand_host_list("r[1-2]n[08-10]x"), (Names{"r1n08x", "r1n09x", "r1n10x", "r2n08x", "r2n09x", "r2n10x"}));
  for (const char* none : {"", "(null)", "None"}) EXPECT_TRUE(expand_host_list(none)->empty()) << none;
  for (const char* bad : {"n[1-3", "n1]", "n[3-1]", "n[a]", "n[]", "n[1-999999999]"})
    EXPECT_FALSE(expand_host_list(bad)) << bad;
  EXPECT_FALSE(expand_host_list("n[0-99]m[0-99]", 1000));
}

TEST(SlurmNodeChoice, FeaturesAsSlurmWritesThem) {
  const Names has{"big", "r1"};
  for (const char* yes :
       {"", "big", "big&r1", "small|big", "(small|big)&r1", "[r1|r2]", "big*2", " big & r1 ", "big&", "(((", "big)"})
    EXPECT_TRUE(features_allow(yes, has)) << yes;
  for (const char* no : {"small", "big&small", "(big|small)&r2", "[r2|r3]", "small*2", "bi"})
    EXPECT_FALSE(features_allow(no, has)) << no;
  EXPECT_TRUE(features_allow(std::string(100'000, '('), has)) << "too deep: not understood";
}

TEST(SlurmNodeChoice, SaysWhyANodeIsNone) {
  SlurmNode node{"n1", "n1", true, "idle", 8};
  node.partitions = {"mig", "long"};
  node.cpus = 16;
  node.mem_mib = 1000;
  SlurmJob job;
  job.partition = "mig";
  const auto words = [&](const char* asked = "") { return objection_to(node, job, asked); };
  EXPECT_EQ(words(), "");
  EXPECT_EQ(words("n1"), "");
  EXPECT_EQ(words("n3"), "is not n3, which it asks for");
  job.excluded_nodes = "n[1-2]";
  EXPECT_EQ(words(), "is excluded by its owner");
  job.excluded_nodes = "n[1-";  // not understood
  EXPECT_EQ(words(), "");
  job.excluded_nodes = "";
  job.partition = "other,short";
  EXPECT_EQ(words(), "is not in the partition other,short");
  job.partition = "other,long";
  job.features = "big";
  EXPECT_EQ(words(), "lacks the features big");
  job.features = "";
  job.reservation = "r1";
  EXPECT_EQ(words(), "is not in the reservation r1, or that is not active");
  node.reservations = {"r1"};
  EXPECT_EQ(words(), "");
  job.reservation = "";
  EXPECT_EQ(words(), "is kept for the reservation r1");
  node.reservations.clear();
  job.cpus = 17;
  EXPECT_EQ(words(), "has 16 CPUs, not 17");
  job.cpus = 16;
  job.mem_mib = 1001;
  EXPECT_EQ(words(), "has 1000 MiB of memory, not 1001");
  job.mem_mib = 0;
  EXPECT_EQ(mem_on(node, job), 1000) << "without --mem it takes all";
  job.whole_node = true;
  job.cpus = 1;
  EXPECT_EQ(cpus_on(node, job), 16);
}

}  // namespace
}  // namespace smartmig
