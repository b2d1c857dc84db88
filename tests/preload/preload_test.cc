// libsmartmig-preload.so in programs that use a stand-in for CUDA: what it reports against what the driver knows, and
// that the programs do not notice it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <sstream>

#include "live/jobs/memory_report.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

const std::string kBinaries = PRELOAD_BINARY_DIR;

struct Ran {
  int status = -1;
  std::string text;
  std::map<std::string, std::string> words;  // name -> what follows it
  std::int64_t number(const std::string& name) const {
    return words.contains(name) ? std::strtoll(words.at(name).c_str(), nullptr, 10) : -1;
  }
};

class Preload : public ::testing::Test {
 protected:
  std::string environment(bool preloaded, const std::string& directory) const {
    std::string out = "LD_LIBRARY_PATH=" + kBinaries + "/stub ";
    if (!directory.empty()) out += "SMARTMIG_MEMORY_DIR=" + directory + " ";
    if (preloaded)
      out += "LD_PRELOAD=" + kBinaries + "/libsmartmig-preload.so:" + kBinaries + "/stub/libpreload_next.so ";
    return out;
  }
  Ran run(const std::string& program, bool preloaded = true) const { return run(program, preloaded, dir_.path()); }
  Ran run(const std::string& program, bool preloaded, const std::string& directory) const {
    Ran ran;
    const std::string line =
        "env " + environment(preloaded, directory) + "timeout 60 " + kBinaries + "/" + program + " 2>&1";
    FILE* out = ::popen(line.c_str(), "r");
    char part[4096];
    while (const std::size_t got = std::fread(part, 1, sizeof(part), out)) ran.text.append(part, got);
    ran.status = ::pclose(out);
    std::istringstream words(ran.text);
    std::string last, word;
    for (; words >> word; last = word) ran.words[last] = word;
    return ran;
  }
  // Runs it with and without: the same output but for what may differ; then its only report, compared with the truth.
  ProcessMemory compare(const std::string& program) const {
    const Ran plain = run(program, false);
    const Ran hooked = run(program);
    EXPECT_EQ(plain.status, 0) << plain.text;
    EXPECT_EQ(hooked.status, 0) << hooked.text;
    EXPECT_EQ(plain.text, hooked.text);
    const auto reports = read_memory_reports(dir_.path());
    EXPECT_EQ(reports.size(), 1u) << hooked.text;
    if (reports.size() != 1) return {};
    EXPECT_EQ(reports[0].now_bytes, hooked.number("held"));
    EXPECT_EQ(reports[0].peak_bytes, hooked.number("peak"));
    EXPECT_FALSE(reports[0].running);
    EXPECT_EQ(reports[0].untracked, 0);
    return reports[0];
  }
  TempDir dir_;
};

TEST_F(Preload, AProgramWithoutCudaNoticesNothing) {
  const Ran plain = run("preload_client nothing", false), hooked = run("preload_client nothing");
  EXPECT_EQ(plain.text, hooked.text);
  EXPECT_EQ(hooked.text, "cuda 0 0\nerror 1\nparent 1\n");  // parent: the library behind it still finds the next one
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
}

TEST_F(Preload, LinkedPrograms) {
  const ProcessMemory seen = compare("preload_linked");
  EXPECT_EQ(seen.allocations, 7);  // not 13: a call of the runtime and the driver's below it are one
  EXPECT_EQ(seen.frees, 4);
  EXPECT_EQ(seen.managed_bytes, 3000);
  EXPECT_EQ(seen.failures, 1);
  EXPECT_EQ(seen.failed_bytes, std::int64_t(1) << 40);
  EXPECT_EQ(seen.held_at_failure, 18240);
  EXPECT_TRUE(seen.exited);
}

TEST_F(Preload, DriverThroughDlsym) {
  const ProcessMemory seen = compare("preload_client driver");
  EXPECT_EQ(seen.allocations, 3);
  EXPECT_EQ(seen.frees, 1);  // a failed free and that of nothing are none
  EXPECT_EQ(seen.managed_bytes, 500);
  EXPECT_EQ(seen.failures, 0);
}

TEST_F(Preload, DriverThroughItsOwnTable) { EXPECT_EQ(compare("preload_client proc-address").allocations, 4); }

TEST_F(Preload, RuntimeThroughDlsym) { EXPECT_EQ(compare("preload_client runtime").allocations, 4); }

TEST_F(Preload, TwoRuntimesInOneProcessKeepTheirCalls) {
  EXPECT_EQ(compare("preload_client two-runtimes").allocations, 3);
  EXPECT_NE(run("preload_client two-runtimes").text.find("served 2 2 2"), std::string::npos);
}

TEST_F(Preload, MappedMemoryIsHeldByHandlesAndMappings) {
  const Ran hooked = run("preload_client mapped");
  ASSERT_EQ(hooked.status, 0) << hooked.text;
  const auto reports = read_memory_reports(dir_.path());
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].now_bytes, hooked.number("held"));
  EXPECT_EQ(reports[0].peak_bytes, 6 << 20);  // the 2 MiB on the host are not the device's
  EXPECT_EQ(reports[0].allocations, 3);
}

TEST_F(Preload, ARefusedRequestGivesTheNeed) {
  const ProcessMemory seen = compare("preload_client refused");
  EXPECT_EQ(seen.failures, 1);  // a request of 0 bytes is refused for another reason
  EXPECT_EQ(seen.failed_bytes, std::int64_t(500) << 20);
  EXPECT_EQ(seen.held_at_failure, std::int64_t(600) << 20);
  EXPECT_FALSE(seen.went_on);
  EXPECT_EQ(sum_memory({seen}).needed_bytes, std::int64_t(1100) << 20);
}

TEST_F(Preload, AProgramThatCopesWithARefusalNeedsNoMore) {
  const ProcessMemory seen = compare("preload_client refused and-go-on");
  EXPECT_EQ(seen.failures, 1);
  EXPECT_TRUE(seen.went_on);
  EXPECT_EQ(sum_memory({seen}).needed_bytes, 0);
}

TEST_F(Preload, Threads) {
  const Ran hooked = run("preload_client threads");
  ASSERT_EQ(hooked.status, 0) << hooked.text;
  const auto reports = read_memory_reports(dir_.path());
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].now_bytes, hooked.number("held"));
  EXPECT_LE(reports[0].peak_bytes, hooked.number("peak"));  // each thread may be one request behind the driver
  EXPECT_GE(reports[0].peak_bytes, hooked.number("peak") - 8 * 10000);
  EXPECT_EQ(reports[0].allocations + reports[0].frees, 8 * 20000);
}

TEST_F(Preload, AForkedChildHasItsOwnRecord) {
  const Ran hooked = run("preload_client fork");
  ASSERT_EQ(hooked.status, 0) << hooked.text;
  auto reports = read_memory_reports(dir_.path());
  ASSERT_EQ(reports.size(), 2u);
  if (reports[0].pid == hooked.number("child")) std::swap(reports[0], reports[1]);
  EXPECT_EQ(reports[1].pid, hooked.number("child"));
  EXPECT_EQ(reports[0].now_bytes, 1003);
  EXPECT_EQ(reports[0].frees, 0);
  EXPECT_FALSE(reports[0].exited);
  EXPECT_EQ(reports[1].now_bytes, 222);
}

TEST_F(Preload, AnExecutedProgramBeginsAnew) {
  const Ran hooked = run("preload_client exec");
  ASSERT_EQ(hooked.status, 0) << hooked.text;
  const auto reports = read_memory_reports(dir_.path());
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].pid, reports[1].pid);
  EXPECT_TRUE(reports[0].exited);
  EXPECT_EQ(reports[0].peak_bytes, 5000);
  EXPECT_EQ(reports[1].now_bytes, hooked.number("held"));
}

TEST_F(Preload, ARunningProcessIsSeenRunningAndAKilledOneIsNot) {
  int input[2], output[2];
  ASSERT_EQ(::pipe2(input, O_CLOEXEC) | ::pipe2(output, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(input[0], 0);
    ::dup2(output[1], 1);
    ::execl("/bin/sh", "sh", "-c",
            ("exec env " + environment(true, dir_.path()) + kBinaries + "/preload_client hold").c_str(), nullptr);
    ::_exit(127);
  }
  ::close(output[1]);
  char text[64];
  ASSERT_GT(::read(output[0], text, sizeof(text)), 0);  // it says its pid once it holds memory
  auto reports = read_memory_reports(dir_.path(), ::geteuid());
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].pid, child);
  EXPECT_TRUE(reports[0].running);
  EXPECT_EQ(sum_memory(reports).now_bytes, 5000);
  EXPECT_TRUE(read_memory_reports(dir_.path(), ::geteuid() + 1).empty());
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  reports = read_memory_reports(dir_.path());
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_FALSE(reports[0].running);
  EXPECT_FALSE(reports[0].exited);
  EXPECT_EQ(reports[0].now_bytes, 5000);  // what it held when it died
  EXPECT_EQ(sum_memory(reports).now_bytes, 0);
  for (const int file : {input[0], input[1], output[0]}) ::close(file);
}

TEST_F(Preload, WithoutADirectoryNothingIsWrittenAndAllWorks) {
  const std::string plain = run("preload_linked", false).text;
  for (const std::string& directory : {std::string(), dir_.path() + "/missing", std::string("relative"),
                                       std::string("/proc"), "/" + std::string(5000, 'x')}) {
    const Ran hooked = run("preload_linked", true, directory);
    EXPECT_EQ(hooked.status, 0) << hooked.text;
    EXPECT_EQ(hooked.text, plain);
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
}

TEST_F(Preload, TheProgramForRealGpusPassesHereToo) {
  const Ran hooked = run("preload_gpu_client check libcudart.so.12");
  EXPECT_EQ(hooked.status, 0) << hooked.text;
  EXPECT_EQ(hooked.text.find("FAIL"), std::string::npos) << hooked.text;
  EXPECT_NE(run("preload_gpu_client check", false).status, 0);
}

TEST_F(Preload, ACallCostsUnderAMicrosecond) {
  double best = 1e9, plain = 1e9;
  for (int round = 0; round < 3; ++round) {  // the machine may be busy
    plain = std::min(plain, std::strtod(run("preload_client cost", false).words["ns"].c_str(), nullptr));
    best = std::min(best, std::strtod(run("preload_client cost").words["ns"].c_str(), nullptr));
  }
  std::printf("a call through dlsym: %.1f ns, without the library %.1f ns: %.1f ns more\n", best, plain, best - plain);
  EXPECT_GT(best, 0);
  EXPECT_LT(best - plain, 1000);
}

}  // namespace
}  // namespace smartmig
