#include "bound/windows.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

TEST(Windows, UniformCoversTheHorizon) {
  const Windows w = Windows::uniform(Time(5), Time(10), Time(26));
  EXPECT_EQ(w.edges, (std::vector<std::int64_t>{0, 5, 15, 25, 35}));
  EXPECT_EQ(Windows::uniform(Time(0), Time(10), Time(20)).edges, (std::vector<std::int64_t>{0, 10, 20}));
}

TEST(Windows, FindsTheWindowThatStartsAtAnInstant) {
  const Windows w = Windows::uniform(Time(0), Time(10), Time(20));
  EXPECT_EQ(w.find(Time(0)), 0u);
  EXPECT_EQ(w.find(Time(9)), 0u);
  EXPECT_EQ(w.find(Time(10)), 1u);
  EXPECT_EQ(w.find(Time(20)), 2u);  // the tail
  EXPECT_EQ(w.find(Time(900)), 2u);
}

TEST(Windows, HalvesWhatIsAskedForAndWideEnough) {
  Windows w;
  w.edges = {0, 1, 4, 10};
  std::vector<std::size_t> parent;
  const Windows fine = halve(w, {true, true, false}, parent);
  EXPECT_EQ(fine.edges, (std::vector<std::int64_t>{0, 1, 2, 4, 10}));
  EXPECT_EQ(parent, (std::vector<std::size_t>{0, 1, 1, 2}));
}

}  // namespace
}  // namespace smartmig
