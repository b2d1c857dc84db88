#include "slurm/living_job.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "live/durable_file.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

class MadeProc {
 public:
  std::string evidence(std::uint32_t job, const std::string& node = "n1") const {
    return LivingJobs(node, dir_.path() + "/cgroup", dir_.path() + "/proc").evidence(job);
  }
  void add(const std::string& path, std::string_view text) {
    const std::string file = dir_.path() + "/" + path;
    ASSERT_TRUE(make_directories(file.substr(0, file.rfind('/'))));
    ASSERT_TRUE(write_file(file, text));
  }

 private:
  TempDir dir_;
};

TEST(SlurmLivingJob, IsSeenByItsProcesses) {
  MadeProc made;
  made.add("proc/self/environ", std::string_view("SLURM_JOB_ID=12\0", 16));
  made.add("proc/70/environ", std::string_view("A=1\0SLURM_JOB_ID=12\0SLURMD_NODENAME=n1\0", 39));
  made.add("proc/70/cmdline", "python");
  made.add("proc/80/cmdline", std::string_view("slurmstepd: [31.batch]\0", 23));
  made.add("proc/90/environ", std::string_view("XSLURM_JOB_ID=55\0", 17));
  EXPECT_EQ(made.evidence(12), "process 70 runs");
  EXPECT_EQ(made.evidence(12, "n2"), "") << "it is another node's on the same machine";
  EXPECT_EQ(made.evidence(1), "");
  EXPECT_EQ(made.evidence(31), "its slurmstepd, process 80, runs");
  EXPECT_EQ(made.evidence(3), "");
  EXPECT_EQ(made.evidence(55), "");
}

TEST(SlurmLivingJob, IsSeenByItsCgroup) {
  MadeProc made;
  made.add("cgroup/system.slice/slurmstepd.scope/job_7/cgroup.procs", "");
  made.add("cgroup/freezer/slurm_n1/uid_0/job_8/cgroup.procs", "");
  EXPECT_EQ(made.evidence(7), "");
  EXPECT_EQ(made.evidence(8), "");
  made.add("cgroup/system.slice/slurmstepd.scope/job_7/step_0/user/cgroup.procs", "411\n412\n");
  made.add("cgroup/freezer/slurm_n1/uid_0/job_8/step_batch/cgroup.procs", "99\n");
  EXPECT_EQ(made.evidence(7), "process 411 runs in its cgroup");
  EXPECT_EQ(made.evidence(8), "process 99 runs in its cgroup");
}

TEST(SlurmLivingJobProcess, OfThisMachine) {
  const std::uint32_t job = 4'000'000'000u - std::uint32_t(::getpid());
  const std::string variable = "SLURM_JOB_ID=" + std::to_string(job);
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char* environment[] = {const_cast<char*>(variable.c_str()), nullptr};
    char name[] = "sleep", time[] = "60";
    char* arguments[] = {name, time, nullptr};
    ::execve("/bin/sleep", arguments, environment);
    ::_exit(1);
  }
  ::close(ready[1]);
  char nothing;
  (void)!::read(ready[0], &nothing, 1);  // until exec has closed the other end
  ::close(ready[0]);
  EXPECT_EQ(LivingJobs("n1").evidence(job), "process " + std::to_string(child) + " runs");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(LivingJobs("n1").evidence(job), "");
}

}  // namespace
}  // namespace smartmig
