#include "memory/size_memory.h"

#include <gtest/gtest.h>

#include <cmath>

namespace smartmig {
namespace {

double in_blocks(double held) { return std::ceil(held / 20) * 20; }
double doubled(double held) {
  double capacity = 64;
  while (capacity < held) capacity *= 2;
  return capacity;
}
double expected_at(const SizeMemory& memory, double size) {
  double sum = 0;
  for (const SizeMemory::Curve& curve : memory.curves()) sum += curve.weight * curve.at(size);
  return sum;
}

TEST(SizeMemory, TheLineBehindBlocksAndDoublings) {
  SizeMemory blocks, regions;
  blocks.set_allocator(AllocatorFamily::kPlain);
  regions.set_allocator(AllocatorFamily::kDoubling);
  for (int tokens = 1; tokens < 4000; tokens += 10) {
    blocks.add(tokens, in_blocks(1000 + 2.0 * tokens), false, true);
    regions.add(tokens, doubled(500 + 2.0 * tokens), false, true);
  }
  EXPECT_NEAR(expected_at(blocks, 10'000), 21'000, 300);
  EXPECT_NEAR(expected_at(regions, 10'000), 20'500, 600);
}

TEST(SizeMemory, StagesAreReadWhereTheSizeJumps) {
  SizeMemory memory;
  memory.set_allocator(AllocatorFamily::kPlain);
  for (const double length : {128.0, 256.0, 384.0})
    for (int i = 0; i < 20; ++i) memory.add(length, in_blocks(2000 + 5 * length), false, false);
  EXPECT_NEAR(expected_at(memory, 1024), 7120, 100);
}

TEST(SizeMemory, GarbageOfACacheIsNoNeed) {
  // Copies of 1 MiB a token: all are made anew, the cache is given back at 10,000 MiB.
  SizeMemory memory;
  memory.set_allocator(AllocatorFamily::kCaching);
  double shown = 500;
  for (int tokens = 10; tokens < 1500; tokens += 10) {
    shown += tokens;
    if (shown > 10'000) shown = 500 + 1.3 * tokens;
    memory.add(tokens, shown, false, true);
  }
  for (const SizeMemory::Curve& curve : memory.curves()) EXPECT_LT(curve.at(2000), 4000);
  EXPECT_EQ(memory.surely_held(), 0);
}

TEST(SizeMemory, WhatIsSaidIsBelieved) {
  SizeMemory memory;
  for (int tokens = 1; tokens < 50; ++tokens) memory.add(tokens, 700 + 3.0 * tokens, true, true);
  ASSERT_EQ(memory.curves().size(), 1u);
  EXPECT_NEAR(memory.curves()[0].at(1000), 3700, 1);
  EXPECT_NEAR(memory.curves()[0].size_at(3700), 1000, 1);
}

}  // namespace
}  // namespace smartmig
