#include "live/jobs/oom_words.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

TEST(RefusedRequest, WordsOfFrameworks) {
  EXPECT_EQ(refused_request_mib("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has"),
            20480);
  EXPECT_EQ(refused_request_mib("Tried to allocate 98.00 MiB (GPU 0;"), 98);
  EXPECT_EQ(refused_request_mib("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 21474836481 bytes."),
            20481);
}

TEST(RefusedRequest, TheLastOneCounts) {
  EXPECT_EQ(
      refused_request_mib("Tried to allocate 4.00 GiB. ... Tried to allocate 2.00 MiB. went to allocate resources"), 2);
}

TEST(RefusedRequest, NothingSaid) {
  for (const char* text :
       {"", "o allocate ", "Tried to allocate ", "Tried to allocate 12", "Tried to allocate 12 sheep",
        "Tried to allocate -3 GiB", "Tried to allocate 9999999999999999 GiB", "out of memory"})
    EXPECT_EQ(refused_request_mib(text), 0) << text;
}

}  // namespace
}  // namespace smartmig
