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

}  // namespace
}  // namespace smartmig
