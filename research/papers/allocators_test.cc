#include "research/papers/allocators.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/rng.h"

namespace smartmig {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

TEST(Allocators, SegmentsAreThoseOfTheFrameworks) {
  DeviceAllocator caching(AllocatorKind::kCaching, 1000 * kMiB);
  const int small = caching.take(100);
  EXPECT_EQ(caching.device(), 2 * kMiB);
  caching.take(5 * kMiB);
  EXPECT_EQ(caching.device(), 22 * kMiB);
  caching.take(5 * kMiB);
  EXPECT_EQ(caching.device(), 22 * kMiB) << "out of the same segment";
  caching.take(11 * kMiB + 1);
  EXPECT_EQ(caching.device(), 34 * kMiB);
  caching.give(small);
  EXPECT_EQ(caching.device(), 34 * kMiB) << "kept";
  DeviceAllocator doubling(AllocatorKind::kDoubling, 1000 * kMiB);
  for (const std::int64_t shown : {2, 6, 6, 14}) {
    doubling.take(2 * kMiB);
    EXPECT_EQ(doubling.device(), shown * kMiB);
  }
  EXPECT_EQ(DeviceAllocator(AllocatorKind::kPreallocated, 1000 * kMiB).device(), 750 * kMiB);
}

TEST(Allocators, ACacheIsGivenBackBeforeARequestFails) {
  DeviceAllocator caching(AllocatorKind::kCaching, 100 * kMiB);
  caching.give(caching.take(60 * kMiB));
  EXPECT_GE(caching.take(80 * kMiB), 0);
  EXPECT_EQ(caching.refused(), 1);
  EXPECT_EQ(caching.device(), 80 * kMiB);
  EXPECT_LT(caching.take(30 * kMiB), 0);
}

TEST(Allocators, NoneShowsLessThanIsHeldOrMoreThanThereIs) {  // property
  for (int kind = 0; kind < kAllocatorKinds; ++kind)
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Rng rng(seed, std::uint64_t(kind));
      DeviceAllocator memory(AllocatorKind(kind), 2000 * kMiB);
      std::vector<std::pair<int, std::int64_t>> live;
      std::int64_t held = 0;
      for (int i = 0; i < 600; ++i) {
        if (!live.empty() && rng.below(5) < 2) {
          const std::size_t at = rng.below(live.size());
          memory.give(live[at].first);
          held -= live[at].second;
          live.erase(live.begin() + std::ptrdiff_t(at));
        } else {
          const std::int64_t bytes = 1 + std::int64_t(rng.below(std::uint64_t(1) << (8 + rng.below(20))));
          const int tensor = memory.take(bytes);
          if (tensor < 0) continue;
          live.push_back({tensor, bytes});
          held += bytes;
        }
        ASSERT_EQ(memory.held(), held) << name_of(AllocatorKind(kind)) << " seed " << seed;
        ASSERT_GE(memory.device(), held) << name_of(AllocatorKind(kind)) << " seed " << seed;
        ASSERT_LE(memory.device(), 2000 * kMiB) << name_of(AllocatorKind(kind)) << " seed " << seed;
      }
    }
}

}  // namespace
}  // namespace smartmig
