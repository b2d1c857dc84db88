#include "mig/shape_translation.h"

#include <gtest/gtest.h>

#include "mig/catalog.h"

namespace smartmig {
namespace {

std::string translated(const char* from_name, const char* text, const char* to_name) {
  const auto from = Catalog::builtin().find(from_name).value(), to = Catalog::builtin().find(to_name).value();
  const ShapeTable shapes(*to, to->schedulable_profiles());
  return to_string(*to, translate_shape(*from, parse_shape(*from, text).value(), *to, shapes));
}

TEST(ShapeTranslation, KeepsSizesWithinTheFamily) {
  EXPECT_EQ(translated("a100-40gb", "4g.20gb+3g.20gb", "h100-94gb"), "4g.47gb+3g.47gb");
  EXPECT_EQ(translated("a100-40gb", "4g.20gb+1g.10gb+1g.5gb*2", "h100-94gb"), "4g.47gb+1g.24gb+1g.12gb*2");
  EXPECT_EQ(translated("a100-40gb", "7g", "h200-141gb"), "7g.141gb");
  EXPECT_EQ(translated("h200-141gb", "1g*7", "a100-40gb"), "1g.5gb*7");
}

TEST(ShapeTranslation, TakesTheNearestElsewhere) {
  EXPECT_EQ(translated("a100-40gb", "7g", "a30-24gb"), "4g.24gb");
  EXPECT_EQ(translated("a100-40gb", "4g+3g", "a30-24gb"), "2g.12gb*2");
  EXPECT_EQ(translated("a100-40gb", "1g*7", "a30-24gb"), "1g.6gb*4");
}

TEST(ShapeTranslation, EveryShapeOfEveryModelHasAPlaceOnEveryOther) {
  for (const auto& from : Catalog::builtin().models())
    for (const auto& to : Catalog::builtin().models()) {
      const ShapeTable own(*from, from->schedulable_profiles()), theirs(*to, to->schedulable_profiles());
      for (const Shape shape : own.maximal_shapes()) {
        const Shape got = translate_shape(*from, shape, *to, theirs);
        EXPECT_FALSE(theirs.layouts_of(got).empty())
            << to_string(*from, shape) << " of " << from->name() << " on " << to->name();
        if (from->name() == to->name()) {
          EXPECT_EQ(got, shape) << to_string(*from, shape);
        }
      }
    }
}

}  // namespace
}  // namespace smartmig
