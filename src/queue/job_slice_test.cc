#include "queue/job_slice.h"

#include <gtest/gtest.h>

#include "mig/catalog.h"

namespace smartmig {
namespace {

TEST(JobSlice, EveryPlacementHasItsName) {
  const auto model = Catalog::builtin().find("a100-40gb");
  ASSERT_TRUE(model);
  for (std::size_t p = 0; p < (*model)->placements().size(); ++p) {
    const JobSlice slice = slice_of(**model, PlacementId(p));
    EXPECT_EQ(parse_job_slice(to_string(slice)), slice);
    EXPECT_EQ(placement_of(**model, slice), PlacementId(p)) << to_string(slice);
  }
}

TEST(JobSlice, WhatIsNoNameIsNoSlice) {
  EXPECT_EQ(to_string(JobSlice()), "");
  for (const char* text : {"", "3g.20gb", "@4", "3g.20gb@", "3g.20gb@x", "3g.20gb@-1", "3g.20gb@999"})
    EXPECT_TRUE(parse_job_slice(text).none()) << text;
  const auto model = Catalog::builtin().find("a100-40gb");
  EXPECT_EQ(placement_of(**model, {"9g.99gb", 0}), kNoPlacement);
}

}  // namespace
}  // namespace smartmig
