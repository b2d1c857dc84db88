#include "policy/planner/waiting_list.h"

#include <gtest/gtest.h>

#include "support/fixture.h"

namespace smartmig {
namespace {

using namespace fixture;

// As in the daemon: a job that comes back has a row behind those of jobs that were submitted after it.
TEST(WaitingList, AJobThatComesBackHasItsOldPlaceAmongItsLike) {
  const auto fleet = platform("1xa100-40gb");
  auto jobs = std::make_shared<JobTable>(std::move(JobTable::growing(*fleet, "a100-40gb", 3).value()));
  const double submits[] = {2, 3, 1};
  for (unsigned row = 0; row < 3; ++row)
    ASSERT_TRUE(jobs->put(JobId(row), job(submits[row], -1, linear(10)), "", "", *fleet));
  Cluster cluster(fleet, jobs, CostModel{CostModel::kHardware, {}}, layouts(*fleet, {"7g@0"}));
  cluster.begin_decision();
  for (unsigned row = 0; row < 3; ++row) cluster.apply(Event::submitted(min(3), JobId(row)));
  WaitingList list;
  list.update(cluster, {});
  std::vector<std::size_t> order;
  for (const WaitingList::Entry& entry : list.entries()) order.push_back(index(entry.job));
  EXPECT_EQ(order, (std::vector<std::size_t>{2, 0, 1}));
}

// Between users the deadline says whose turn it is: shortest first, a user with ever more short jobs would have all.
TEST(WaitingList, DeadlinesThatKeepFairnessAreTurns) {
  for (const bool fair : {false, true}) {
    SCOPED_TRACE(fair);
    const auto fleet = platform("1xa100-40gb");
    std::vector<Job> jobs = {job(0, 20, linear(10)), job(0, 30, linear(1)), job(0, 5, linear(2)),
                             job(0, -1, linear(1))};
    if (fair) jobs[0].undeclared = true;
    Cluster cluster(fleet, bind(jobs, *fleet), CostModel{CostModel::kHardware, {}}, layouts(*fleet, {"7g@0"}));
    WaitingList list;
    const auto order = [&] {
      cluster.begin_decision();
      list.update(cluster, {});
      cluster.end_decision(false);
      std::vector<std::size_t> out;
      for (const WaitingList::Entry& entry : list.entries()) out.push_back(index(entry.job));
      return out;
    };
    for (unsigned id = 0; id < jobs.size(); ++id) cluster.apply(Event::submitted(min(0), JobId(id)));
    EXPECT_EQ(order(), fair ? (std::vector<std::size_t>{2, 0, 1, 3}) : (std::vector<std::size_t>{1, 2, 0, 3}));
    cluster.apply(Event::withdrawn(min(1), JobId(0)));
    EXPECT_EQ(order(), (std::vector<std::size_t>{1, 2, 3})) << "shortest first, once no job waits for its turn";
  }
}

TEST(WaitingList, ADeadlineThatMovesWithoutNewsCounts) {
  const auto fleet = platform("1xa100-40gb");
  auto workload = std::make_shared<Workload>();
  workload->jobs = {job(0, 60, linear(10)), job(0, 61, linear(10))};
  const auto jobs = std::make_shared<const JobTable>(std::move(JobTable::bind(workload, *fleet).value()));
  Cluster cluster(fleet, jobs, CostModel{CostModel::kHardware, {}}, layouts(*fleet, {"7g@0"}));
  cluster.begin_decision();
  for (unsigned row = 0; row < 2; ++row) cluster.apply(Event::submitted(min(3), JobId(row)));
  WaitingList list;
  const auto late_with = [&](Time deadline) {
    workload->jobs[0].deadline = deadline;
    list.update(cluster, {});
    cluster.begin_decision();
    return list.late();
  };
  EXPECT_EQ(late_with(min(60)), 0u);
  EXPECT_EQ(late_with(min(4)), 1u);
  EXPECT_EQ(late_with(min(60)), 0u);
  EXPECT_EQ(late_with(kNever), 1u) << "without one it is wanted at once";
  EXPECT_EQ(index(list.entries()[0].job), 1u) << "and comes behind the others";
  workload->jobs[0].undeclared = true;  // by turns
  EXPECT_EQ(late_with(min(62)), 0u);
  EXPECT_EQ(index(list.entries()[0].job), 1u);
  EXPECT_EQ(late_with(min(60)), 0u);
  EXPECT_EQ(index(list.entries()[0].job), 0u);
}

}  // namespace
}  // namespace smartmig
