#include "cli/queue/srun_call.h"

#include <gtest/gtest.h>

namespace smartmig::cli {
namespace {

using Argv = std::vector<std::string>;

std::string srun_refusal(const Argv& words) {
  const auto call = parse_srun(words);
  return call ? "accepted" : call.error().what;
}

TEST(SrunCall, OneTaskRunsAsItStandsWhateverItSaysOfPlaces) {
  const auto call = parse_srun({"-n",          "1",         "-N1",        "--gres=gpu:1", "--cpus-per-task",
                                "4",           "-ul",       "--mpi=none", "-K",           "--kill-on-bad-exit=1",
                                "--exclusive", "--time=10", "--cpu-bind", "none",         "--pty",
                                "python3",     "-u",        "train.py",   "--lr",         "1"});
  ASSERT_TRUE(call) << call.error().what;
  EXPECT_EQ(call->command, (Argv{"python3", "-u", "train.py", "--lr", "1"}));
  EXPECT_TRUE(call->directory.empty() && call->output.empty() && call->error.empty() && call->export_list.empty());
  const auto dashed = parse_srun({"--", "-odd"});
  ASSERT_TRUE(dashed);
  EXPECT_EQ(dashed->command, Argv{"-odd"});
}

TEST(SrunCall, DirectoryFilesAndEnvironmentAreTaken) {
  const auto call = parse_srun(
      {"-D", "/tmp", "-o", "out-%j", "--error=err", "-i", "in", "--export=A,B=c", "--open-mode=append", "true"});
  ASSERT_TRUE(call) << call.error().what;
  EXPECT_EQ(call->directory, "/tmp");
  EXPECT_EQ(call->output, "out-%j");
  EXPECT_EQ(call->error, "err");
  EXPECT_EQ(call->input, "in");
  EXPECT_EQ(call->export_list, "A,B=c");
  EXPECT_TRUE(call->append);
  const auto value = [](const char* name) { return std::string("<") + name + ">"; };
  EXPECT_EQ(expand_srun_file("%x-%4j.%t%%%q", value), "<SLURM_JOB_NAME>-<SLURM_JOB_ID>.0%%q");
}

TEST(SrunCall, SeveralTasksAreRefusedWithWhatToDo) {
  EXPECT_EQ(srun_refusal({"-n", "4", "true"}),
            "--ntasks=4 is not supported: a job has one task; start more processes in the script");
  EXPECT_EQ(srun_refusal({"--nodes=2", "true"}),
            "--nodes=2 is not supported: a job has one task; start more processes in the script");
  EXPECT_EQ(srun_refusal({"--multi-prog", "file"}), "--multi-prog is not supported: a job has one task");
  EXPECT_EQ(srun_refusal({"--container-image=x", "true"}),
            "--container-image is an option of smartmig submit: the whole job runs in the image");
  EXPECT_EQ(srun_refusal({"--nonsense", "true"}), "--nonsense is not an option of srun");
  EXPECT_EQ(srun_refusal({"-n"}), "-n needs a value");
  EXPECT_EQ(srun_refusal({"-n1"}), "no command: srun [options] COMMAND [ARGUMENT...]");
}

}  // namespace
}  // namespace smartmig::cli
