#include "queue/jobs/admission.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "base/rng.h"
#include "support/cases.h"

namespace smartmig {
namespace {

Time s(double seconds) { return from_seconds(seconds); }
UnixTime at(double seconds) { return UnixTime(s(seconds)); }

AdmissionJob waiting(std::uint64_t id, std::uint32_t uid, double submitted, double estimate, double deadline = -1,
                     int priority = 0) {
  AdmissionJob j{id, uid, priority, {}, at(submitted), s(estimate), 1, false};
  if (deadline >= 0) j.deadline = at(deadline);
  return j;
}

std::vector<std::uint64_t> ids(const AdmissionAnswer& answer) {
  std::vector<std::uint64_t> out;
  for (const AdmittedJob& j : answer.visible) out.push_back(j.id);
  return out;
}

TEST(Admission, OneUserSeesTheDeclaredDeadlines) {
  Admission admission;
  std::vector<AdmissionJob> jobs{waiting(1, 7, 0, 100, 500), waiting(2, 7, 0, 100, 50), waiting(3, 7, 10, 100)};
  admission.charge(waiting(0, 7, 0, 5000), 1, 14, 7);
  const auto answer = admission.admit(jobs, {}, {}, 14, 7, at(10));
  EXPECT_EQ(ids(answer), (std::vector<std::uint64_t>{2, 1, 3}));
  EXPECT_EQ(answer.visible[0].deadline, at(50));
  EXPECT_FALSE(answer.visible[0].made_up);
  EXPECT_EQ(answer.visible[1].deadline, at(500));
  EXPECT_EQ(answer.visible[2].deadline, at(210)) << "submitted + slack x estimate";
  EXPECT_TRUE(answer.visible[2].made_up);
}

// Random queues of one to three users and priorities: with a deadline a job is shown if it is without one, no further
// back, and presented no later.
TEST(Admission, ADeadlineNeverMakesAJobLater) {
  Rng rng(5);
  int compared = 0, sooner = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<AdmissionJob> jobs;
    const std::uint64_t users = 1 + rng.below(3), count = 1 + rng.below(60), priorities = 1 + rng.below(2);
    for (std::uint64_t i = 0; i < count; ++i)
      jobs.push_back(waiting(i, std::uint32_t(rng.below(users)), rng.uniform(0, 500), rng.uniform(1, 300),
                             rng.below(2) == 0 ? -1 : rng.uniform(0, 5000), int(rng.below(priorities))));
    AdmissionLimits limits;
    limits.window = 1 + rng.below(60);
    limits.user_slices = rng.below(2) == 0 ? 0 : 10;
    Admission admission;
    admission.set_account(0, at(rng.uniform(0, 1000)));
    AdmissionJob& mine = jobs[rng.below(count)];
    const auto shown = [&] {
      const auto answer = Admission(admission).admit(jobs, {}, limits, 14, 7, at(500));
      for (std::size_t i = 0; i < answer.visible.size(); ++i)
        if (answer.visible[i].id == mine.id) return std::optional(std::pair(i, answer.visible[i]));
      return std::optional<std::pair<std::size_t, AdmittedJob>>();
    };
    mine.deadline.reset();
    const auto without = shown();
    if (!without) continue;
    for (const double deadline : {0.0, 300.0, 2000.0, 1e6, 1e9}) {
      mine.deadline = at(deadline);
      const auto with = shown();
      ASSERT_TRUE(with) << "round " << round << ", due at " << deadline;
      EXPECT_FALSE(with->second.made_up);
      EXPECT_LE(with->first, without->first) << "round " << round << ", due at " << deadline;
      // A higher priority's deadline also depends on the lower ones that are shown.
      if (!without->second.made_up && priorities == 1) EXPECT_LE(with->second.deadline, without->second.deadline);
      ++compared;
      sooner += with->first < without->first;
    }
  }
  EXPECT_GT(compared, 500);
  EXPECT_GT(sooner, compared / 4);
}

TEST(Admission, BetweenUsersAndPrioritiesNothingIsMadeUp) {
  std::vector<AdmissionJob> jobs{waiting(1, 7, 0, 100), waiting(2, 7, 0, 100)};
  const auto made_up = [&] {
    int count = 0;
    for (const AdmittedJob& one : Admission().admit(jobs, {}, {}, 14, 7, at(10)).visible) count += one.made_up;
    return count;
  };
  EXPECT_EQ(made_up(), 2);
  jobs.push_back(waiting(3, 8, 0, 100));
  EXPECT_EQ(made_up(), 0) << "another user waits";
  jobs.back() = waiting(3, 7, 0, 100, -1, 1);
  EXPECT_EQ(made_up(), 0) << "another priority";
  jobs.back().held = true;
  EXPECT_EQ(made_up(), 2) << "held jobs want nothing now";
}

TEST(Admission, UsersTakeTurnsAtEqualUrgency) {
  Admission admission;
  std::vector<AdmissionJob> jobs;
  for (std::uint64_t i = 0; i < 4; ++i) jobs.push_back(waiting(i, 1, 0, 10, 1e6));
  for (std::uint64_t i = 4; i < 8; ++i) jobs.push_back(waiting(i, 2, 0, 10, 1e6));
  EXPECT_EQ(ids(admission.admit(jobs, {}, {}, 14, 7, at(0))), (std::vector<std::uint64_t>{0, 4, 1, 5, 2, 6, 3, 7}));
  AdmissionLimits few;
  few.window = 3;
  EXPECT_EQ(ids(admission.admit(jobs, {}, few, 14, 7, at(0))), (std::vector<std::uint64_t>{0, 4, 1}));
}

TEST(Admission, ManyTinyJobsDoNotHaveAllTheStarts) {
  Admission admission;
  for (std::uint64_t i = 0; i < 40; ++i) admission.charge(waiting(i, 1, 0, 1), 2, 56, 7);
  std::vector<AdmissionJob> jobs;
  for (std::uint64_t i = 100; i < 200; ++i) jobs.push_back(waiting(i, 1, 0, 1));
  jobs.push_back(waiting(200, 2, 0, 60));
  EXPECT_EQ(ids(admission.admit(jobs, {}, {}, 56, 7, at(0))).front(), 200u)
      << "40 starts weigh more than one job of a minute";
}

TEST(Admission, HigherPriorityFirst) {
  Admission admission;
  std::vector<AdmissionJob> jobs{waiting(1, 1, 0, 10, 20), waiting(2, 2, 0, 10, 900, 5), waiting(3, 1, 0, 10, 30)};
  auto answer = admission.admit(jobs, {}, {}, 14, 7, at(0));
  EXPECT_EQ(ids(answer), (std::vector<std::uint64_t>{2, 1, 3}));
  EXPECT_LE(answer.visible[0].deadline, answer.visible[1].deadline);
  // Enough of them to fill the fleet: the others are not shown.
  for (std::uint64_t i = 10; i < 30; ++i) jobs.push_back(waiting(i, 2, 0, 10, 900, 5));
  answer = admission.admit(jobs, {}, {}, 14, 7, at(0));
  EXPECT_EQ(answer.visible.size(), 21u);
  for (const AdmittedJob& j : answer.visible) EXPECT_TRUE(j.id == 2 || j.id >= 10);
}

TEST(Admission, CapsOfAUser) {
  Admission admission;
  AdmissionLimits limits;
  limits.user_slices = 4;
  std::vector<AdmissionJob> jobs{waiting(1, 1, 0, 10), waiting(2, 1, 0, 10), waiting(3, 2, 0, 10)};
  jobs[0].slices = 3;
  jobs[2].held = true;
  const UserLoad loads[] = {{1, 2}};
  const auto answer = admission.admit(jobs, loads, limits, 14, 7, at(0));
  EXPECT_EQ(ids(answer), (std::vector<std::uint64_t>{2})) << "3 + 2 slices are above 4; the held one is nobody's";
  EXPECT_EQ(answer.user_full, (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(answer.active_users, 1u);
}

// A fleet of whole GPUs that serves jobs by presented deadline; the mean slowdown (turnaround over estimate) per user.
std::map<std::uint32_t, double> serve(std::vector<AdmissionJob> all, int gpus, bool fair) {
  Admission admission;
  std::vector<std::pair<UnixTime, std::size_t>> running;  // finish, job
  std::vector<UnixTime> finished(all.size(), kNotYet);
  std::set<std::size_t> waiting;
  UnixTime now{};
  std::size_t next = 0;
  for (std::size_t done = 0; done < all.size();) {
    const UnixTime arrival = next < all.size() ? all[next].submitted : kNeverUnix;
    const auto first = std::min_element(running.begin(), running.end());
    if (first != running.end() && first->first <= arrival) {
      now = first->first;
      finished[first->second] = now;
      running.erase(first);
      ++done;
    } else {
      now = arrival;
      waiting.insert(next++);
    }
    std::vector<AdmissionJob> queue;
    for (const std::size_t j : waiting) queue.push_back(all[j]);
    std::map<std::uint32_t, int> slices;
    for (const auto& r : running) slices[all[r.second].uid] += 7;
    std::vector<UserLoad> loads;
    for (const auto& [uid, n] : slices) loads.push_back({uid, n});
    auto answer = admission.admit(queue, loads, {}, 7 * gpus, 7, now);
    if (!fair)
      std::stable_sort(answer.visible.begin(), answer.visible.end(), [&](const AdmittedJob& a, const AdmittedJob& b) {
        return all[a.id].deadline < all[b.id].deadline;
      });
    for (const AdmittedJob& j : answer.visible) {
      if (int(running.size()) == gpus) break;
      running.emplace_back(now + all[j.id].estimate, j.id);
      waiting.erase(j.id);
      admission.charge(all[j.id], answer.active_users, 7 * gpus, 7);
    }
  }
  std::map<std::uint32_t, double> sum;
  std::map<std::uint32_t, int> count;
  for (std::size_t j = 0; j < all.size(); ++j) {
    sum[all[j].uid] += seconds(finished[j] - all[j].submitted) / seconds(all[j].estimate);
    ++count[all[j].uid];
  }
  for (auto& [uid, total] : sum) total /= count[uid];
  return sum;
}

TEST(Admission, AGreedyUserCannotMonopoliseByTightDeadlines) {
  std::vector<AdmissionJob> greedy, modest, both;
  Rng rng(11);
  for (int i = 0; i < 200; ++i) greedy.push_back(waiting(0, 1, 0, rng.uniform(200, 400), 1));
  for (int i = 0; i < 40; ++i) {
    const double submitted = 100 + 400 * i, estimate = rng.uniform(200, 400);
    modest.push_back(waiting(0, 2, submitted, estimate, submitted + 4 * estimate));
  }
  both = greedy;
  both.insert(both.end(), modest.begin(), modest.end());
  const auto number = [](std::vector<AdmissionJob>& jobs) {
    std::stable_sort(jobs.begin(), jobs.end(), [](const auto& a, const auto& b) { return a.submitted < b.submitted; });
    for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].id = i;
  };
  number(both);
  number(modest);
  const double fair = serve(both, 4, true)[2], unfair = serve(both, 4, false)[2];
  const double own = serve(modest, 2, true)[2];  // alone on its half of the fleet
  std::printf(
      "[ slowdown ] modest user: %.2f alone on its share, %.2f beside the greedy one, %.2f by declared deadlines\n",
      own, fair, unfair);
  EXPECT_LT(fair, 2.5 * own);
  EXPECT_GT(unfair, 5 * own);
  // The greedy user gets all the rest.
  EXPECT_LT(serve(both, 4, true)[1], 1.5 * serve(both, 4, false)[1]);
}

TEST(Admission, TenThousandJobsInMilliseconds) {
  std::vector<AdmissionJob> jobs;
  Rng rng(3);
  for (std::uint64_t i = 0; i < 10000; ++i)
    jobs.push_back(waiting(i, std::uint32_t(rng.below(50)), rng.uniform(0, 1e5), rng.uniform(1, 1e4),
                           rng.below(3) ? rng.uniform(0, 2e5) : -1, int(rng.below(3)) / 2));
  Admission admission;
  double best = 1e9;
  for (int i = 0; i < cases(20); ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const auto answer = admission.admit(jobs, {}, {}, 56, 7, at(1e5));
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    ASSERT_EQ(answer.visible.size(), 112u) << "what would fill the fleet twice";
    ASSERT_TRUE(answer.visible == admission.admit(jobs, {}, {}, 56, 7, at(1e5)).visible) << "pure";
  }
  std::printf("[ admission ] 10,000 jobs: %.2f ms\n", best);
}

}  // namespace
}  // namespace smartmig
