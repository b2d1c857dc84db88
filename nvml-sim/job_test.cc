#include "job_curve.h"
#include "job_speed.h"
#include "test_machine.h"

namespace smartmig::nvsim {
namespace {

TEST(MemoryCurve, IsStraightBetweenItsPoints) {
  const auto curve = MemoryCurve::parse("0:512M,10:1G,20:1G,30:5G");
  ASSERT_TRUE(curve);
  EXPECT_EQ(curve->at(0), 512u << 20);
  EXPECT_EQ(curve->at(5), 768u << 20);
  EXPECT_EQ(curve->at(15), 1u << 30);
  EXPECT_EQ(curve->at(1000), 5ull << 30);
  EXPECT_EQ(curve->next_bend(0), 10);
  EXPECT_EQ(curve->next_bend(30), std::nullopt);
  EXPECT_NEAR(*curve->first_above(0, 3ull << 30), 25, 1e-9);
  EXPECT_EQ(curve->first_above(0, 5ull << 30), std::nullopt);
  EXPECT_EQ(curve->first_above(40, 1ull << 30), 40);
}

TEST(MemoryCurve, RefusesWhatItCannotRead) {
  for (const char* text : {"", "0", "x:1G", "0:1G,0:2G", "5:1G,3:2G", "-1:1G", "0:1Q", "0:-5M", "0:9999999T"})
    EXPECT_EQ(bool(MemoryCurve::parse(text)), std::string(text) == "0") << text;
  EXPECT_EQ(*parse_bytes("1.5G"), 3ull << 29);
  EXPECT_EQ(*parse_bytes("500MiB"), 500ull << 20);
  EXPECT_EQ(*parse_bytes("123"), 123u);
}

TEST(RelativeSpeed, ComesFromTheTableAndElseFromTheSlices) {
  EXPECT_NEAR(*relative_speed("bert-train", "a100-40gb", "1g.5gb", 1), 2.2 / 10.5, 1e-12);
  EXPECT_NEAR(*relative_speed("bert-train", "a100-40gb", "7g.40gb", 7), 1, 1e-12);
  EXPECT_NEAR(*relative_speed("bert-train", "h200-141gb", "3g.71gb", 3), 5.8 / 10.5, 1e-12);  // measured elsewhere
  EXPECT_NEAR(*relative_speed("unknown", "a100-40gb", "2g.10gb", 2), 2.0 / 7, 1e-12);
  EXPECT_NEAR(*relative_speed("bert-train", "a100-40gb", "2g.10gb", 1), 4.1 / 10.5 / 2, 1e-12);
  EXPECT_FALSE(relative_speed("bert-train", "a100-40gb", "5g", 5));
}

class Job : public MachineTest {
 protected:
  static std::string job(const Slice& slice, const std::string& arguments) {
    return "CUDA_VISIBLE_DEVICES=" + slice.uuid + " " + program("smartmig-emulated-job") + " " + arguments;
  }
};

TEST_F(Job, TakesItsWorkDividedByTheSlicesSpeed) {
  start("1xa100-40gb", "virtual");
  const Slice slice = make_slice(19, 0);
  unsigned long long before = 0, after = 0;
  nvmlSimNow(&before);
  const Output out = run_program(job(slice, "--kind bert-train --work-s 44 --steps 4 --mem-curve 0:1G"));
  nvmlSimNow(&after);
  EXPECT_EQ(out.code, 0) << out.text;
  EXPECT_NEAR(double(after - before) / 1e6, 44 * 10.5 / 2.2, 2e-6);
  EXPECT_NE(out.text.find("step 1/4 25.0 % 0.02 it/s\n"), std::string::npos) << out.text;
  EXPECT_NE(out.text.find("step 4/4 100.0 %"), std::string::npos);
  EXPECT_EQ(nvmlComputeInstanceDestroy(slice.ci), NVML_SUCCESS);  // it has left the slice
}

TEST_F(Job, FailsWithACudaMessageWhenItPassesTheSlice) {
  start("1xa100-40gb", "virtual");
  const Slice slice = make_slice(19, 0);
  unsigned long long before = 0, after = 0;
  nvmlSimNow(&before);
  const Output out = run_program(job(slice, "--work-s 1000 --steps 10 --mem-curve 0:0,100:9728M"));  // twice 4864 MiB
  nvmlSimNow(&after);
  EXPECT_EQ(out.code, 1);
  EXPECT_NE(out.text.find("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB."),
            std::string::npos)
      << out.text;
  EXPECT_NEAR(double(after - before) / 1e6, 50, 0.001);
  EXPECT_EQ(run_program(job(slice, "--work-s 1 --mem-curve 0:5G")).code, 1);  // at once
  EXPECT_EQ(run_program(job(slice, "--work-s 1 --mem-curve 0:4G")).code, 0);
}

TEST_F(Job, WritesACheckpointOnItsSignalAndGoesOnFromThere) {
  start("1xa100-40gb", "real");
  const Slice slice = make_slice(0, 4);
  const std::string file = directory_ + "/checkpoint";
  const std::string arguments = " --work-s 50 --time-scale 100 --steps 10 --checkpoint-file " + file;
  const Output out = run_program("{ " + job(slice, arguments + " --checkpoint-signal USR1 --checkpoint-exit 85 & ") +
                                 "pid=$!; sleep 0.25; kill -USR1 $pid; wait $pid; exit $?; }");
  EXPECT_EQ(out.code, 85) << out.text;
  EXPECT_NE(out.text.find("checkpoint at "), std::string::npos) << out.text;
  const Output resumed = run_program(job(slice, arguments));
  EXPECT_EQ(resumed.code, 0) << resumed.text;
  EXPECT_NE(resumed.text.find(", from "), std::string::npos);
  EXPECT_EQ(resumed.text.find("step 1/10"), std::string::npos) << resumed.text;
  EXPECT_NE(resumed.text.find("step 10/10"), std::string::npos);
  FILE* broken = std::fopen(file.c_str(), "w");
  std::fputs("half", broken);
  std::fclose(broken);
  EXPECT_EQ(run_program(job(slice, arguments)).code, 2);
}

TEST_F(Job, IgnoresSignalsWhenAskedAndDiesOfThemOtherwise) {
  start("1xa100-40gb", "real");
  const Slice slice = make_slice(0, 4);
  const auto signalled = [&](const std::string& more) {
    return run_program("{ " + job(slice, "--work-s 40 --time-scale 100 " + more + " & ") +
                       "pid=$!; sleep 0.15; kill -TERM $pid; wait $pid; exit $?; }")
        .code;
  };
  EXPECT_EQ(signalled("--ignore-signal TERM,INT"), 0);
  EXPECT_EQ(signalled(""), 143);
  EXPECT_EQ(nvmlComputeInstanceDestroy(slice.ci), NVML_SUCCESS);
}

TEST_F(Job, DiesWithItsBoard) {
  start("1xa100-40gb", "real");
  const Slice slice = make_slice(0, 4);
  const Output out =
      run_program("{ " + job(slice, "--work-s 100 --time-scale 100 & ") + "pid=$!; sleep 0.15; " +
                  program("nvml-sim-ctl") + " fault " + directory_ + " gpu-lost --gpu 0; wait $pid; exit $?; }");
  EXPECT_EQ(out.code, 1) << out.text;
  EXPECT_NE(out.text.find("GPU is lost"), std::string::npos);
}

TEST_F(Job, SaysWhatIsWrongWithItsCall) {
  start("1xa100-40gb");
  const std::string name = program("smartmig-emulated-job");
  EXPECT_EQ(run_program(name).code, 2);
  EXPECT_EQ(run_program(name + " --work-s 1 --what").code, 2);
  EXPECT_EQ(run_program(name + " --work-s 1 --checkpoint-signal USR1").code, 2);
  EXPECT_EQ(run_program(name + " --work-s 1 --ignore-signal KILL").code, 2);
  EXPECT_EQ(run_program(name + " --help").code, 0);
  const Output gone = run_program("CUDA_VISIBLE_DEVICES=MIG-gone " + name + " --work-s 1");
  EXPECT_EQ(gone.code, 1);
  EXPECT_NE(gone.text.find("no CUDA-capable device"), std::string::npos);
  ::unsetenv("NVML_SIM_STATE");
  EXPECT_NE(run_program(name + " --work-s 1").text.find("NVML_SIM_STATE"), std::string::npos);
  EXPECT_EQ(run_program(name + " --slice a100-40gb:2g --work-s 1 --time-scale 1000").code, 0);
  EXPECT_EQ(run_program(name + " --slice a100-40gb:2g --work-s 1 --time-scale 1000 --fail-after-s 0.5").code, 1);
}

}  // namespace
}  // namespace smartmig::nvsim
