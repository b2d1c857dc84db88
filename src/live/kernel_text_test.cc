#include "live/kernel_text.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

TEST(KernelText, AFailingReadIsTheEnd) {
  EXPECT_EQ(text_of_kernel("/proc/sys/kernel/ostype"), "Linux\n");
  EXPECT_EQ(text_of_kernel("/proc/self"), "");  // can be opened, and no read succeeds
  EXPECT_EQ(text_of_kernel("/proc/self/no-such-file"), "");
}

}  // namespace
}  // namespace smartmig
