#include "mig/moves.h"

#include <gtest/gtest.h>

#include "mig/catalog.h"
#include "mig/shape.h"

namespace smartmig {
namespace {

const GpuModel& a100() { return **Catalog::builtin().find("a100-40gb"); }
Layout parse(std::string_view text) { return *parse_layout(a100(), text); }

TEST(Moves, DiffIsSetAlgebra) {
  const Move move = move_between(parse("4g@0+2g@4+1g@6"), parse("2g@0+2g@2+2g@4+1g@6"));
  EXPECT_EQ(to_string(a100(), move.destroy), "4g.20gb@0");
  EXPECT_EQ(to_string(a100(), move.keep), "2g.10gb@4+1g.5gb@6");
  EXPECT_EQ(to_string(a100(), move.create), "2g.10gb@0+2g.10gb@2");
  EXPECT_TRUE(legal(move, parse("2g@4+1g@6")));
  EXPECT_FALSE(legal(move, parse("4g@0")));
  EXPECT_TRUE(operations(a100(), move_between(parse("7g@0"), parse("7g@0"))).empty());
}

TEST(Moves, OperationsDestroyFirstAndGoByStart) {
  const auto list = operations(a100(), move_between(parse("1g@6+4g@0"), parse("3g@4+1g@0+2g@2")));
  ASSERT_EQ(list.size(), 5u);
  std::string text;
  for (const Operation& op : list)
    text += fmt::format("{}{}@{} ", op.kind == Operation::kDestroy ? "-" : "+", a100().profile_of(op.placement).name,
                        a100().placement(op.placement).start);
  EXPECT_EQ(text, "-4g.20gb@0 -1g.5gb@6 +1g.5gb@0 +2g.10gb@2 +3g.20gb@4 ");
}

TEST(Moves, ReachOfAnEmptyAndAFullGpu) {
  EXPECT_EQ(reach(a100(), {}, a100().plain_profiles()), (Reach{298, 19, 38}));
  EXPECT_EQ(reach(a100(), parse("7g@0"), a100().plain_profiles()), (Reach{1, 1, 1}));
  EXPECT_EQ(reach(a100(), {}, a100().schedulable_profiles()).layouts, 723);
  // The right half alone: 3 maximal fillings beside a 4g.
  EXPECT_EQ(reach(a100(), parse("4g@0"), a100().plain_profiles()).maximal, 3);
}

TEST(Moves, BestPlacementKeepsTheLargeStartsFree) {
  const auto best = [](Layout layout, std::string_view profile) {
    const auto p = best_placement(a100(), layout, a100().find_profile(profile), a100().plain_profiles());
    return p ? int(a100().placement(*p).start) : -1;
  };
  EXPECT_EQ(best({}, "1g"), 6);             // slice 6 serves no 2g and leaves the left half whole
  EXPECT_EQ(best({}, "2g"), 0);             // 55 layouts remain, 54 at 4
  EXPECT_EQ(best({}, "3g"), 4);             // 4g stays possible
  EXPECT_EQ(best(parse("1g@6"), "1g"), 4);  // 4 and 5 leave the same number: lowest
  EXPECT_EQ(best(parse("4g@0+3g@4"), "1g"), -1);
  EXPECT_EQ(best(parse("3g@4"), "3g"), 0);
}

}  // namespace
}  // namespace smartmig
