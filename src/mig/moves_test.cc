#include "mig/moves.h"

#include <gtest/gtest.h>

#include "mig/catalog.h"
#include "mig/shape.h"

namespace smartmig {
namespace {

const GpuModel& small_a100() { return **Catalog::builtin().find("a100-40gb"); }
Layout layout(std::string_view text) { return *parse_layout(small_a100(), text); }

TEST(Moves, DiffIsSetAlgebra) {
  const Move move = move_between(layout("4g@0+2g@4+1g@6"), layout("2g@0+2g@2+2g@4+1g@6"));
  EXPECT_EQ(to_string(small_a100(), move.destroy), "4g.20gb@0");
  EXPECT_EQ(to_string(small_a100(), move.keep), "2g.10gb@4+1g.5gb@6");
  EXPECT_EQ(to_string(small_a100(), move.create), "2g.10gb@0+2g.10gb@2");
  EXPECT_TRUE(legal(move, layout("2g@4+1g@6")));
  EXPECT_FALSE(legal(move, layout("4g@0")));
  EXPECT_TRUE(operations(small_a100(), move_between(layout("7g@0"), layout("7g@0"))).empty());
}

TEST(Moves, OperationsDestroyFirstAndGoByStart) {
  const auto list = operations(small_a100(), move_between(layout("1g@6+4g@0"), layout("3g@4+1g@0+2g@2")));
  ASSERT_EQ(list.size(), 5u);
  std::string text;
  for (const Operation& op : list)
    text += fmt::format("{}{}@{} ", op.kind == Operation::kDestroy ? "-" : "+",
                        small_a100().profile_of(op.placement).name, small_a100().placement(op.placement).start);
  EXPECT_EQ(text, "-4g.20gb@0 -1g.5gb@6 +1g.5gb@0 +2g.10gb@2 +3g.20gb@4 ");
}

TEST(Moves, ReachOfAnEmptyAndAFullGpu) {
  EXPECT_EQ(reach(small_a100(), {}, small_a100().plain_profiles()), (Reach{298, 19, 38}));
  EXPECT_EQ(reach(small_a100(), layout("7g@0"), small_a100().plain_profiles()), (Reach{1, 1, 1}));
  EXPECT_EQ(reach(small_a100(), {}, small_a100().schedulable_profiles()).layouts, 723);
  // The right half alone: 3 maximal fillings beside a 4g.
  EXPECT_EQ(reach(small_a100(), layout("4g@0"), small_a100().plain_profiles()).maximal, 3);
}

TEST(Moves, BestPlacementKeepsTheLargeStartsFree) {
  const auto best = [](Layout layout, std::string_view profile) {
    const auto p =
        best_placement(small_a100(), layout, small_a100().find_profile(profile), small_a100().plain_profiles());
    return p ? int(small_a100().placement(*p).start) : -1;
  };
  EXPECT_EQ(best({}, "1g"), 6);              // slice 6 serves no 2g and leaves the left half whole
  EXPECT_EQ(best({}, "2g"), 0);              // 55 layouts remain, 54 at 4
  EXPECT_EQ(best({}, "3g"), 4);              // 4g stays possible
  EXPECT_EQ(best(layout("1g@6"), "1g"), 4);  // 4 and 5 leave the same number: lowest
  EXPECT_EQ(best(layout("4g@0+3g@4"), "1g"), -1);
  EXPECT_EQ(best(layout("3g@4"), "3g"), 0);
}

}  // namespace
}  // namespace smartmig
