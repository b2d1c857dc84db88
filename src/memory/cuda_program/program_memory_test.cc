#include "memory/cuda_program/program_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/file.h"
#include "support/paths.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

// By tests/data/make_cuda_program.py, so that golden tests and these see the same file.
std::string made_program(const std::string& kind = "") {
  const TempDir dir;
  const std::string path = dir.path() + "/made";
  const std::string command = "python3 " + source_dir() + "/tests/data/make_cuda_program.py" + " " + path + " " + kind;
  if (std::system(command.c_str()) != 0) return "";
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool mentions(const ProgramMemory& m, const char* words) {
  return std::any_of(m.unread.begin(), m.unread.end(),
                     [&](const std::string& one) { return one.find(words) != one.npos; });
}

TEST(ProgramMemory, AMadeProgramIsReadInAllItsParts) {
  const auto memory = read_program_memory("made", made_program());
  ASSERT_TRUE(memory) << memory.error().what;
  EXPECT_EQ(memory->modules, 1) << "the second is compressed";
  EXPECT_EQ(memory->architectures, (std::vector<int>{80, 90}));
  EXPECT_EQ(memory->arrays, 64u << 20) << "of the architecture that takes least";
  EXPECT_EQ(memory->constants, 4096u);
  EXPECT_EQ(memory->code, 3328u);
  EXPECT_EQ(memory->local_per_thread, 1040u) << "the larger of frame and stack";
  EXPECT_EQ(memory->local(14), 1040u * 14 * 2048);
  EXPECT_EQ(memory->local_kernel, "kernel");
  EXPECT_EQ(memory->request_calls, 2);
  EXPECT_EQ(memory->requests, (256ull << 20) + (3ull << 30));
  EXPECT_EQ(memory->unknown_calls, 1) << "a size from memory";
  EXPECT_TRUE(mentions(*memory, "1 module whose GPU code is compressed"));
  EXPECT_TRUE(mentions(*memory, "computed at run time"));
}

TEST(ProgramMemory, ACubinAlone) {
  const auto memory = read_program_memory("made", made_program("cubin"));
  ASSERT_TRUE(memory) << memory.error().what;
  EXPECT_EQ(memory->arrays, 64u << 20);
  EXPECT_EQ(memory->kernels, 1);
}

TEST(ProgramMemory, EveryCutOfAFileIsAnErrorOrAReading) {
  const std::string whole = made_program();
  ASSERT_GT(whole.size(), 1000u);
  for (std::size_t length = 0; length < whole.size(); length += 37) {
    const auto memory = read_program_memory("cut", std::string_view(whole).substr(0, length));
    ASSERT_FALSE(memory) << "section headers stand at the end, so each cut misses some: " << length;
    EXPECT_NE(memory.error().what.find("cut"), std::string::npos) << length;
  }
}

TEST(ProgramMemory, WhatHasNoCudaCodeIsRefused) {
  const auto self = read_file("/proc/self/exe");
  ASSERT_TRUE(self);
  const auto memory = read_program_memory("tests", *self);
  ASSERT_FALSE(memory);
  EXPECT_NE(memory.error().what.find("no CUDA code"), std::string::npos);
  EXPECT_FALSE(read_program_memory("text", "not a program"));
}

}  // namespace
}  // namespace smartmig
