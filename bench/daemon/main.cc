// bench_daemon submit|decide|idle|many|recover DIRECTORY [ARGUMENTS]: the load that a daemon bears.
// bench/scenarios/daemon.sh runs them all.
#include <cstdlib>
#include <cstring>

#include "bench.h"

using namespace smartmig;

int main(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "", directory = argc > 2 ? argv[2] : "";
  const auto number = [&](int at, double otherwise) { return argc > at ? std::atof(argv[at]) : otherwise; };
  const std::string policy = argc > 3 ? argv[3] : "best";
  if (what == "submit") return !bench::submissions(directory, std::size_t(number(3, 32)), number(4, 20));
  if (what == "decide") {
    const bench::QueueMix mix{std::clamp(int(number(6, 3)), 1, 3), number(7, 1) != 0};
    return !bench::decisions(directory, policy, int(number(4, 10'000)), int(number(5, 3'000)), mix);
  }
  if (what == "idle") return !bench::idle(directory, number(3, 30));
  if (what == "many") return !bench::many_jobs(directory, policy, int(number(4, 100'000)));
  if (what == "recover") return !bench::recovery(directory, int(number(3, 99'000)), int(number(4, 1'000)));
  fmt::print(stderr,
             "usage: bench_daemon submit DIR [CLIENTS [SECONDS]]\n"
             "       bench_daemon decide DIR [POLICY [QUEUED [ENDS [USERS [DEADLINES 0|1]]]]]\n"
             "       bench_daemon idle DIR [SECONDS]\n"
             "       bench_daemon many DIR [POLICY [JOBS]]\n"
             "       bench_daemon recover DIR [ENDED [LIVE]]\n");
  return 2;
}
