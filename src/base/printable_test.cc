#include "base/printable.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

TEST(Printable, WhatReachesAnotherTerminalHasNoEscapes) {
  EXPECT_EQ(printable("train.py --lr 0.1"), "train.py --lr 0.1");
  EXPECT_EQ(printable("\u00fcber \u6e2c\u8a66 \U0001f600"), "\u00fcber \u6e2c\u8a66 \U0001f600");
  EXPECT_EQ(printable("a\x1b[2Jb\nc\x7f"), "a?[2Jb?c?");
  EXPECT_EQ(printable("a\u202eb\u2066c\u200fd\u009be\ufefff"), "a?b?c?d?e?f");
  EXPECT_EQ(printable_lines("a\n\x1b[1mb\n"), "a\n?[1mb\n");
  EXPECT_EQ(printable("\xff\xc0\x80z\xe2\x80"), "???z??");
}

}  // namespace
}  // namespace smartmig
