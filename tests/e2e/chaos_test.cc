// The daemon is killed with SIGKILL again and again, at random points and at the worst ones (SMARTMIG_TEST_KILL_AT),
// while clients submit, cancel and requeue, jobs end in all ways there are, and GPUs fail. Then everything is left to
// end, and the jobs' own evidence is held against what the daemon says.
//
//   SMARTMIG_CHAOS_KILLS=500   how often; 30 otherwise
//   SMARTMIG_CHAOS_SEED=N      the seed of a run; printed
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/text.h"
#include "chaos_checks.h"
#include "chaos_clients.h"
#include "cli/queue/http_client.h"

namespace smartmig::chaos {
namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t number_from(const char* variable, std::uint64_t fallback) {
  const char* text = std::getenv(variable);
  const auto number = text ? parse_int(text) : std::nullopt;
  return number && *number > 0 ? std::uint64_t(*number) : fallback;
}

double seconds_since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }
void nap(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

std::string tail_of(const std::string& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.substr(text.size() > 3000 ? text.size() - 3000 : 0);
}

// Until every board's counter is on record: from there on energy is compared.
void wait_for_first_joules(ChaosWorld& world, Ledger& ledger, EnergyBase& base) {
  Submission first;
  first.name = "first";
  first.role = "ok";
  const auto answer = call(world, "POST", "/v1/jobs",
                           {{"command", {programs().job, world.evidence(), "ok", "0.1"}}, {"name", first.name}});
  ASSERT_TRUE(answer) << answer.error().what;
  first.acknowledged = true;
  first.ids = (*answer)["ids"].get<std::vector<std::uint64_t>>();
  ledger.submitted(first);
  const auto began = Clock::now();
  for (;;) {
    const auto found = energy_base(world);
    if (found) {
      base = *found;
      return;
    }
    ASSERT_LT(seconds_since(began), 30) << found.error().what;
    nap(0.05);
  }
}

// One life of the daemon. False: it did not die of a kill.
bool one_life(ChaosWorld& world, const Ledger& ledger, Rng& rng, std::map<std::string, int>& kinds) {
  const std::uint64_t dice = rng.below(10);
  if (dice < 4) {  // at the n-th point of danger
    ++kinds["at a commit or an effect"];
    world.start(int(1 + rng.below(dice < 2 ? 12 : 80)));
    if (world.ended(2.5)) return !world.failed();
  } else if (dice == 4) {  // while it starts
    ++kinds["while it started"];
    world.start();
    if (world.ended(rng.uniform(0, 0.12))) return false;
  } else {
    ++kinds["after an action"];
    world.start();
    if (!world.answers(30)) return false;
    const std::uint64_t until = ledger.actions() + rng.below(6);
    for (const auto began = Clock::now(); ledger.actions() < until && seconds_since(began) < 2;) nap(0.001);
    if (world.ended(rng.uniform(0, 0.4))) return false;
  }
  world.kill();
  return !world.failed();
}

bool drain(ChaosWorld& world, double limit_s) {
  for (const auto began = Clock::now(); seconds_since(began) < limit_s; nap(0.2)) {
    mend(world);
    const auto active = call(world, "GET", "/v1/jobs?state=active&limit=1000");
    if (active && (*active)["jobs"].empty()) return true;
  }
  if (const auto active = call(world, "GET", "/v1/jobs?state=active&limit=1000"))
    for (const Json& job : (*active)["jobs"]) {
      fmt::print("still there: {}\n", job.dump());
      if (const auto why = call(world, "GET", fmt::format("/v1/jobs/{}/why", job["id"].dump())))
        fmt::print("  why: {}\n", why->dump());
    }
  if (const auto gpus = call(world, "GET", "/v1/gpus")) fmt::print("{}\n", gpus->dump(1));
  return false;
}

void expect_none(const char* what, const Complaints& complaints) {
  EXPECT_TRUE(complaints.empty()) << what << ": " << complaints.size() << " complaints\n  "
                                  << fmt::format("{}", fmt::join(complaints, "\n  "));
}

TEST(Chaos, EveryAcceptedJobEndsOnceWithItsTrueState) {
  const std::uint64_t kills = number_from("SMARTMIG_CHAOS_KILLS", 30);
  const std::uint64_t seed =
      number_from("SMARTMIG_CHAOS_SEED",
                  std::uint64_t(std::chrono::system_clock::now().time_since_epoch().count() / 1000 % 1000000));
  fmt::print("seed {}, {} kill points\n", seed, kills);
  std::fflush(stdout);
  const auto began = Clock::now();
  ChaosWorld world(seed);
  Ledger ledger;
  EnergyBase base;
  std::map<std::string, int> kinds;
  world.start();
  ASSERT_TRUE(world.answers(60)) << tail_of(world.log());
  ASSERT_NO_FATAL_FAILURE(wait_for_first_joules(world, ledger, base));
  Rng rng(seed);
  int faults = 0;
  {
    Crowd crowd(world, ledger, 4);
    nap(rng.uniform(0, 0.4));
    world.kill();
    for (std::uint64_t k = 1; k < kills; ++k)
      ASSERT_TRUE(one_life(world, ledger, rng, kinds)) << "life " << k << ", seed " << seed << ": the daemon ended by "
                                                       << "itself\n"
                                                       << tail_of(world.log());
    world.start();
    ASSERT_TRUE(world.answers(60)) << tail_of(world.log());
    crowd.stop();
    faults = crowd.faults();
  }
  // An orderly restart: a GPU that was lost when a daemon came up is found by the next one.
  ASSERT_TRUE(world.terminate(20)) << tail_of(world.log());
  world.start();
  ASSERT_TRUE(world.answers(60)) << tail_of(world.log());
  const double chaos_s = seconds_since(began);
  ASSERT_TRUE(drain(world, 120)) << "seed " << seed << "\n" << tail_of(world.log());
  nap(1.5);  // two more samples: the last joules

  Figures figures;
  const auto jobs = all_jobs(world);
  ASSERT_TRUE(jobs) << jobs.error().what;
  expect_none("jobs", check_jobs(world, ledger, *jobs, figures));
  expect_none("instances", check_instances(world));
  expect_none("energy shown", check_shown_energy(world, base));
  ClientTarget target;
  target.socket = world.socket();
  auto client = HttpClient::open(target);
  ASSERT_TRUE(client);
  const auto journal = client->text("/v1/journal");
  ASSERT_TRUE(journal) << journal.error().what;
  EXPECT_TRUE(world.terminate(20)) << tail_of(world.log());
  expect_none("processes", world.processes());
  expect_none("store", check_store(world));
  expect_none("energy", check_energy(world, base, figures));
  expect_none("journal", check_journal(world, *journal, figures));
  if (HasFailure()) {
    fmt::print("seed {}: SMARTMIG_CHAOS_SEED={} runs the same wishes again\n", seed, seed);
    if (const char* keep = std::getenv("SMARTMIG_CHAOS_KEEP"))
      std::filesystem::copy(world.root(), keep, std::filesystem::copy_options::recursive);
  }
  std::size_t accepted = 0;
  for (const Submission& submission : ledger.submissions()) accepted += submission.acknowledged;
  fmt::print("{} kills in {:.1f} s ({:.1f} s in all)", kills, chaos_s, seconds_since(began));
  for (const auto& [kind, count] : kinds) fmt::print(", {} {}", count, kind);
  fmt::print(
      "\n{} jobs of {} accepted submissions, {} of them kept without an answer; {} attempts, {} of them ran; {} "
      "restarts for "
      "memory, {} preemptions, {} GPU faults; {} jobs began before their slice was free, {} of them needed none\n",
      figures.jobs, accepted, figures.unacknowledged_kept, figures.attempts, figures.runs, figures.oom_restarts,
      figures.preemptions, faults, figures.held, figures.without_slice);
  for (const auto& [state, count] : figures.states) fmt::print("{} {}  ", state, count);
  fmt::print("\nenergy: {:.1f} J jobs, {:.1f} J idle, {:.1f} J unattributed; worst board {:.6f} %, jobs {:.6f} %\n",
             figures.attributed_j, figures.idle_j, figures.unattributed_j, 100 * figures.worst_board_error,
             100 * figures.jobs_error);
  fmt::print("journal: {} runs replay\n", figures.journal_runs);
}

}  // namespace
}  // namespace smartmig::chaos
