#include "mig/choose.h"

#include <gtest/gtest.h>

#include "mig/catalog.h"

namespace smartmig {
namespace {

std::string chosen(const char* gpu, int mem_mib, int min_slices) {
  const GpuModel& model = **Catalog::builtin().find(gpu);
  const auto found = choose_profile(model, mem_mib, min_slices);
  return found ? model.profiles()[std::size_t(*found)].name : "error: " + found.error().what;
}

TEST(Choose, SmallestByComputeThenMemory) {
  EXPECT_EQ(chosen("a100-40gb", 0, 0), "1g.5gb");
  EXPECT_EQ(chosen("a100-40gb", 4864, 1), "1g.5gb");
  EXPECT_EQ(chosen("a100-40gb", 4865, 1), "1g.10gb");
  EXPECT_EQ(chosen("a100-40gb", 4865, 2), "2g.10gb");
  EXPECT_EQ(chosen("a100-40gb", 12000, 0), "3g.20gb");
  EXPECT_EQ(chosen("a100-40gb", 12000, 4), "4g.20gb");
  EXPECT_EQ(chosen("a100-40gb", 20097, 0), "7g.40gb");
  EXPECT_EQ(chosen("a100-40gb", -1, 5), "7g.40gb");
  EXPECT_EQ(chosen("a30-24gb", 6000, 0), "2g.12gb");
}

TEST(Choose, SaysWhatIsTooMuch) {
  EXPECT_NE(chosen("a100-40gb", 40321, 0).find("7 slices and 40320 MiB"), std::string::npos);
  EXPECT_NE(chosen("a100-40gb", 0, 8).find("the largest has 7 slices"), std::string::npos);
  EXPECT_NE(chosen("b300-270gb", 1000, 0).find("an unknown memory"), std::string::npos);
}

TEST(Choose, ListsAllThatSuitInOrder) {
  const GpuModel& model = **Catalog::builtin().find("a100-40gb");
  std::vector<std::string> names;
  for (int i : suitable_profiles(model, 5000, 0, model.all_profiles()))
    names.push_back(model.profiles()[std::size_t(i)].name);
  EXPECT_EQ(names, (std::vector<std::string>{"1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"}));
}

}  // namespace
}  // namespace smartmig
