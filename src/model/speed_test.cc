#include "model/speed.h"

#include <gtest/gtest.h>

#include "mig/catalog.h"

namespace smartmig {
namespace {

constexpr const char* kHeader = "kind,gpu,profile,throughput,unit,mem_mib,source\n";

Result<SpeedTable> parse(const std::string& rows) {
  return SpeedTable::parse(LineReader::over("speeds", kHeader + rows));
}

TEST(SpeedTable, AnswersWhatItRead) {
  const std::string text = std::string(kHeader) +
                           "a-train-1,g,1g.5gb,2,x/s,100,one\na-train-1,g,7g.40gb,9.5,x/"
                           "s,100,one\na-train-1,h,1g.9gb,3,x/s,120,two\nb,g,1g.5gb,1,x/s,,two\n";
  const auto table = SpeedTable::parse(LineReader::over("speeds", text));
  ASSERT_TRUE(table) << table.error().what;
  EXPECT_EQ(table->throughput("a-train-1", "g", "7g.40gb"), 9.5);
  EXPECT_EQ(table->throughput("a-train-1", "h", "7g.40gb"), std::nullopt);
  EXPECT_EQ(table->throughput("c", "g", "1g.5gb"), std::nullopt);
  EXPECT_EQ(table->mem_mib("a-train-1"), 120) << "the largest of several GPUs";
  EXPECT_EQ(table->mem_mib("b"), std::nullopt);
  EXPECT_EQ(table->kinds(), (std::vector<std::string>{"a-train-1", "b"}));
  EXPECT_EQ(table->kinds("two"), (std::vector<std::string>{"a-train-1", "b"}));
  EXPECT_EQ(table->kinds("one"), (std::vector<std::string>{"a-train-1"}));
  EXPECT_TRUE(table->has("b"));
  EXPECT_FALSE(table->has("c"));
}

TEST(SpeedTable, RefusesWhatMakesNoSense) {
  for (const char* row : {"a,g,1g.5gb,0,x,,s\n", "a,g,1g.5gb,-1,x,,s\n", "a,g,1g.5gb,nan,x,,s\n",
                          "a,g,1g.5gb,1,x,-5,s\n", "a,g,1g.5gb,1,x,9e9,s\n", ",g,1g.5gb,1,x,,s\n", "a,g,1g.5gb,1,x,,\n",
                          "a,g,1g.5gb,1,x,,s\na,g,1g.5gb,2,x,,s\n", "a,g,1g.5gb,1,x\n"}) {
    const auto table = parse(row);
    ASSERT_FALSE(table) << row;
    EXPECT_NE(table.error().what.find("line "), std::string::npos) << table.error().what;
  }
}

TEST(SpeedTable, BuiltinHoldsEverySource) {
  const SpeedTable& table = SpeedTable::builtin();
  EXPECT_EQ(table.kinds("paper"),
            (std::vector<std::string>{"bert-train", "resnet50-train", "bert-infer", "resnet50-infer"}));
  EXPECT_EQ(table.kinds("MISO").size(), 30u);
  EXPECT_EQ(table.kinds("ParvaGPU").size(), 88u);
  EXPECT_EQ(table.kinds("measured H200").size(), 7u);
  EXPECT_EQ(table.throughput("bert-train", "a100-40gb", "7g.40gb"), 10.5);
  EXPECT_EQ(table.throughput("resnet50-infer", "a100-40gb", "4g.20gb"), 12.5);
  EXPECT_EQ(table.throughput("bert-train-8", "a100-40gb", "7g.40gb"), 66.28);
  EXPECT_EQ(table.throughput("bert-train-8", "a100-40gb", "2g.10gb"), std::nullopt);
  EXPECT_EQ(table.throughput("bert-infer-1", "a100-80gb", "1g.10gb"), 74.408);
  EXPECT_EQ(table.throughput("llm-decode-8", "h200-141gb", "7g.141gb"), 4043.423);
  for (const char* suspect : {"deepspeech2-train-4", "deepspeech2-train-8", "densenet169-infer-1"})
    EXPECT_FALSE(table.has(suspect)) << suspect;
}

TEST(SpeedTable, BuiltinAgreesWithTheCatalogue) {
  for (const SpeedTable::Row& row : SpeedTable::builtin().rows()) {
    const auto gpu = Catalog::builtin().find(row.gpu);
    ASSERT_TRUE(gpu) << row.gpu;
    const int profile = (*gpu)->find_profile(row.profile);
    ASSERT_GE(profile, 0) << row.gpu << " " << row.profile;
    const int memory = (*gpu)->profiles()[std::size_t(profile)].memory_mib;
    EXPECT_LE(row.mem_mib, memory) << row.kind << " ran on " << row.profile << ", so it fits there";
  }
}

}  // namespace
}  // namespace smartmig
