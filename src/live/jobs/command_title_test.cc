#include "live/jobs/command_title.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

TEST(CommandTitle, IsTheScriptsAndNotTheInterpreters) {
  EXPECT_EQ(command_title({"python3", "train.py", "--epochs", "3"}), "train.py");
  EXPECT_EQ(command_title({"/usr/bin/python3.11", "-u", "-W", "ignore", "runs/train.py"}), "train.py");
  EXPECT_EQ(command_title({"python", "-m", "package.tool", "x.py"}), "package.tool");
  EXPECT_EQ(command_title({"torchrun", "--nproc_per_node", "1", "fit.py"}), "fit.py");
  EXPECT_EQ(command_title({"bash", "sweep"}), "sweep");
}

TEST(CommandTitle, IsTheProgramsWhereThereIsNoScript) {
  EXPECT_EQ(command_title({"/bin/sleep", "3"}), "sleep");
  EXPECT_EQ(command_title({"sh", "-c", "python3 train.py"}), "sh");
  EXPECT_EQ(command_title({"python3", "-c", "print(1)", "a.py"}), "python3");
  EXPECT_EQ(command_title({"python3"}), "python3");
  EXPECT_EQ(command_title({"cat", "train.py"}), "cat");
  EXPECT_EQ(command_title({"pythonic", "train.py"}), "pythonic");
  EXPECT_EQ(command_title({}), "");
}

}  // namespace
}  // namespace smartmig
