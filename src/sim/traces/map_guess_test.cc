#include "sim/traces/map_guess.h"

#include <gtest/gtest.h>

#include "sim/traces/trace_map.h"

namespace smartmig {
namespace {

TEST(MapGuess, NamesTheColumnsThatLookLikeFields) {
  const MapGuess guess =
      guess_map({"JobID", "arrival_ms", "Run Time, s", "runtime_min", "num_gpus", "model", "colour"});
  EXPECT_EQ(guess.text, "id=JobID,submit=arrival_ms:ms,duration=runtime_min:min,gpus=num_gpus,kind=model");
  EXPECT_TRUE(guess.missing.empty());
  EXPECT_TRUE(parse_trace_map(guess.text));
}

TEST(MapGuess, SaysWhatIsMissingAndTakesTheDurationFromBeginAndEnd) {
  const MapGuess bare = guess_map({"a", "b"});
  EXPECT_EQ(bare.text, "submit=COLUMN:s,duration=COLUMN:s");
  EXPECT_EQ(bare.missing, (std::vector<std::string>{"submit", "duration"}));
  const MapGuess spans = guess_map({"submitted", "started", "end: h"});
  EXPECT_EQ(spans.text, "submit=submitted:s,start=started:s,end=\"end: h\":s");
  EXPECT_TRUE(spans.missing.empty());
  EXPECT_TRUE(parse_trace_map(spans.text));
}

TEST(MapGuess, WhatWasReadIsTheSameMapAgain) {
  TraceReading reading;
  reading.used = {{"submit", "Start", "ms"}, {"class", "always training", ""}, {"duration", "sum of a (b)", ""}};
  EXPECT_EQ(map_of(reading), "submit=Start:ms,class=@training");
}

}  // namespace
}  // namespace smartmig
