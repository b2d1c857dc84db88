#include "sim/completion_heap.h"

#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"

namespace smartmig {
namespace {

TEST(CompletionHeap, TiesGoToTheLowerJob) {
  CompletionHeap heap(5);
  for (unsigned j : {3u, 1u, 4u}) heap.push(JobId(j), Time(7));
  heap.push(JobId(2), Time(6));
  std::vector<unsigned> order;
  for (; !heap.empty(); heap.pop()) order.push_back(index(heap.top().job));
  EXPECT_EQ(order, (std::vector<unsigned>{2, 1, 3, 4}));
}

TEST(CompletionHeap, AgreesWithASortedSet) {
  const std::uint64_t seed = 3;
  Rng rng(seed);
  CompletionHeap heap(200);
  std::set<std::pair<std::int64_t, unsigned>> sorted;
  for (int step = 0; step < 20000; ++step) {
    const unsigned job = unsigned(rng.below(200));
    const auto at = std::find_if(sorted.begin(), sorted.end(), [&](const auto& e) { return e.second == job; });
    ASSERT_EQ(heap.contains(JobId(job)), at != sorted.end()) << "seed " << seed << " step " << step;
    if (at != sorted.end()) {
      sorted.erase(at);
      heap.remove(JobId(job));
    } else if (rng.below(4) == 0 && !sorted.empty()) {
      sorted.erase(sorted.begin());
      heap.pop();
    } else {
      const Time finish(std::int64_t(rng.below(50)));
      sorted.emplace(finish.count(), job);
      heap.push(JobId(job), finish);
    }
    ASSERT_EQ(heap.empty(), sorted.empty());
    if (!sorted.empty()) {
      ASSERT_EQ(index(heap.top().job), sorted.begin()->second) << "seed " << seed << " step " << step;
    }
  }
}

}  // namespace
}  // namespace smartmig
