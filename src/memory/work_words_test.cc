#include "memory/work_words.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

void expect_words(std::string_view line, double size, double size_max, double done, double of, double held = -1) {
  const WorkWords w = work_words_of(line);
  EXPECT_EQ(w.size, size) << line;
  EXPECT_EQ(w.size_max, size_max) << line;
  EXPECT_EQ(w.done, done) << line;
  EXPECT_EQ(w.of, of) << line;
  EXPECT_EQ(w.held_mib, held) << line;
}

TEST(WorkWords, FormsThatProgramsPrint) {
  expect_words("step 30/200 | loss 2.131 | seq_len 384", 384, 0, 30, 200);
  expect_words("step 31/200 | loss 2.131 | batch 12 | mem 866 MiB allocated", 12, 0, 31, 200, 866);
  expect_words("iter 30: loss 9.8123, seq_len 310", 310, 0, 30, 0);
  expect_words("generated 512/2048 tokens", 512, 2048, 512, 2048);
  expect_words("tokens: 168", 168, 0, -1, 0);
  expect_words(" 27%|##        | 168/608 [00:11<00:29, 14.71it/s]", -1, 0, 168, 608);
  expect_words("turn 7 (446 tokens in context)", 446, 0, 7, 0);
  expect_words("turn 7/15 context 425 tokens", 425, 0, 7, 15);
  expect_words("request 12/60: 371 tokens", 371, 0, 12, 60);
  expect_words("request 12 length=371", 371, 0, 12, 0);
  expect_words("served 12 requests", -1, 0, 12, 0);
  expect_words("encoded 1,200/4,000 texts", -1, 0, 1200, 4000);
  expect_words("max_new_tokens=2048", -1, 2048, -1, 0);
  expect_words("GPU memory: 1.5 GiB allocated", -1, 0, -1, 0, 1536);
}

TEST(WorkWords, WhatIsNoWork) {
  for (const char* line : {"", "loss 2.13", "2026/11/18 12:30:11 started", "lr 1e-05", "[00:12<00:24]", "version 3.2.1",
                           "100%", "27.3it/s", "memory: 900 MiB reserved", "epoch 0.12", "took 12 s", "\xff\xfe\x01"}) {
    const WorkWords w = work_words_of(line);
    EXPECT_FALSE(w.any()) << line << " size " << w.size << " done " << w.done << " held " << w.held_mib;
  }
}

TEST(WorkWords, OfABarDrawnOverItselfTheLast) {
  expect_words("  1%|  | 1/100 [00:01]\r  2%|  | 2/100 [00:02]\r  3%|  | 3/100 [00:03]", -1, 0, 3, 100);
}

TEST(WorkWords, OfSeveralLinesTheLargestSizeAndTheLastProgress) {
  WorkWords all;
  all.add(work_words_of("step 3/90 seq_len 371"));
  all.add(work_words_of("step 4/90 seq_len 120"));
  EXPECT_EQ(all.size, 371);
  EXPECT_EQ(all.done, 4);
}

TEST(WorkWords, OptionsOfACommand) {
  EXPECT_EQ(words_of_option("--max-new-tokens", 512).size_max, 512);
  EXPECT_EQ(words_of_option("--max_seq_length", 384).size_max, 384);
  EXPECT_EQ(words_of_option("--max_steps", 200).of, 200);
  EXPECT_FALSE(words_of_option("--seed", 7).any());
}

TEST(WorkWords, ProgressOfAPartIsNotThatOfTheRun) {
  WorkWords told;
  for (const char* line : {"step 40/200 | loss 2.1", "eval 1/6", "eval 3/6"}) told.add(work_words_of(line));
  EXPECT_EQ(told.done, 40);
  EXPECT_EQ(told.of, 200);
  EXPECT_EQ(told.part_done, 3);
  EXPECT_EQ(told.part_of, 6);
  told.add(work_words_of("step 41/200 | loss 2.1"));
  EXPECT_EQ(told.done, 41);
  EXPECT_EQ(told.part_of, 0);
}

TEST(WorkWords, APartIsToldFromARunWithoutAnEnd) {
  WorkWords told;
  for (const char* line : {"iter 9: loss 2.1", "eval 1/6"}) told.add(work_words_of(line));
  EXPECT_EQ(told.done, 9);
  EXPECT_EQ(told.of, 0);
  EXPECT_EQ(told.part_of, 6);
  WorkWords late;  // the pass came first
  for (const char* line : {"eval 6/6", "iter 9: loss 2.1"}) late.add(work_words_of(line));
  EXPECT_EQ(late.done, 9);
  EXPECT_EQ(late.of, 0) << "6 was the end of something else";
}

TEST(WorkWords, WhatIsAddedUpKeepsItsParts) {
  WorkWords told, fresh;
  told.add(work_words_of("step 40/200"));
  for (const char* line : {"step 41/200", "eval 2/6"}) fresh.add(work_words_of(line));
  told.add(fresh);
  EXPECT_EQ(told.done, 41);
  EXPECT_EQ(told.part_done, 2);
}

}  // namespace
}  // namespace smartmig
