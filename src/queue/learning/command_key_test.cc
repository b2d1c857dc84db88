#include "queue/learning/command_key.h"

#include <gtest/gtest.h>

#include <cmath>

namespace smartmig {
namespace {

TEST(CommandKey, SignaturesDropNumbers) {
  EXPECT_EQ(signature_of({"/usr/bin/python3", "train.py", "--lr", "0.1", "--model=bert", "--epochs=12", "-v", "7"}),
            "python3 train.py --lr # --model=bert --epochs=# -v #");
  EXPECT_EQ(signature_of({"a", "-1.5", "--sizes", "1,2,3", "--mem", "18G", "resnet50"}),
            "a # --sizes # --mem # resnet50");
  EXPECT_NE(signature_of({"sh"}, "echo 1"), signature_of({"sh"}, "echo 2"));
  EXPECT_EQ(signature_of({"sh"}, "echo 1"), signature_of({"/bin/sh"}, "echo 1"));
  const std::string a = signature_of({"x", std::string(500, 'a')}), b = signature_of({"x", std::string(501, 'a')});
  EXPECT_EQ(a.size(), 200u);
  EXPECT_NE(a, b);
  EXPECT_EQ(signature_of({"x\n\xff"}), "x??");
}

TEST(CommandKey, NumbersBesideTheSignature) {
  const CommandKey key = key_of({"train.py", "--steps", "300", "--lr=0.1", "-1", "18G", "5", "6"});
  EXPECT_EQ(key.signature, "train.py --steps # --lr=# # # # #");
  EXPECT_NEAR(key.numbers[0], std::log(300.0), 1e-5);
  EXPECT_NEAR(key.numbers[1], std::log(0.1), 1e-5);
  EXPECT_EQ(key.numbers[2], 0) << "not above 0";
  EXPECT_NEAR(key.numbers[3], std::log(18.0), 1e-5);
}

TEST(CommandKey, LikeCommands) {
  EXPECT_EQ(program_of("python3 train.py --lr #"), "python3 train.py");
  EXPECT_EQ(program_of("train # x"), "train");
  EXPECT_EQ(program_of("train"), "train");
  EXPECT_DOUBLE_EQ(likeness("a b c", "a b c"), 1);
  EXPECT_DOUBLE_EQ(likeness("a b c", "a b d"), 0.5);
  EXPECT_DOUBLE_EQ(likeness("a", "b"), 0);
}

}  // namespace
}  // namespace smartmig
