#include "serve/gpus/board_load.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

UnixTime at(int s) { return from_unix_us(std::int64_t(s) * 1'000'000); }

TEST(BoardLoad, TheMeanOfOthers) {
  BoardLoad load;
  load.began(1, 1.0 / 7, at(0));
  load.began(2, 2.0 / 7, at(5));
  load.began(3, 4.0 / 7, at(5));
  EXPECT_NEAR(load.ended(2, at(10)), 5.0 / 7, 1e-9);
  EXPECT_NEAR(load.ended(1, at(20)), (2.0 / 7 * 5 + 4.0 / 7 * 15) / 20, 1e-9);
  EXPECT_NEAR(load.ended(3, at(25)), (1.0 / 7 * 15 + 2.0 / 7 * 5) / 20, 1e-9) << "those that ended before it count";
  EXPECT_EQ(load.ended(3, at(30)), 0) << "it is not there any more";
  for (const std::uint64_t id : {11u, 12u, 13u}) load.began(id, 0.8, at(25));
  EXPECT_NEAR(load.ended(11, at(28)), 1.6, 1e-9) << "slices of half the memory count whole: more than a board";
  load.ended(12, at(28));
  load.ended(13, at(28));
  load.began(4, 1, at(30));
  EXPECT_EQ(load.ended(4, at(30)), 0) << "no time at all";
}

}  // namespace
}  // namespace smartmig
