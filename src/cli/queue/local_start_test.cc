#include "cli/queue/local_start.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_dir.h"

namespace smartmig::cli {
namespace {

struct LocalStart : testing::Test {
  TempDir dir;
  JobSpec spec;
  std::vector<std::string> notes;
  LocalStart() {
    spec.directory = dir.path();
    spec.environment = {"PATH=/nowhere:" + dir.path()};
    std::filesystem::permissions(dir.file("tool", "#!/bin/sh\n"), std::filesystem::perms::owner_all);
    dir.file("plain", "");
  }
  std::string refusal(std::vector<std::string> command) {
    spec.command = std::move(command);
    const auto there = check_local_start(spec, notes);
    return there ? "" : there.error().what;
  }
};

TEST_F(LocalStart, WhatIsThereIsAccepted) {
  EXPECT_EQ(refusal({"tool", "nosuch"}), "");
  EXPECT_EQ(refusal({"./tool"}), "");
  EXPECT_EQ(refusal({dir.path() + "/tool"}), "");
  EXPECT_TRUE(notes.empty());
}

TEST_F(LocalStart, AMisspeltNameIsRefused) {
  EXPECT_EQ(refusal({"nosuch.sh"}), "program nosuch.sh is not in the job's PATH");
  EXPECT_EQ(refusal({"./nosuch.sh"}), "program " + dir.path() + "/./nosuch.sh does not exist");
  EXPECT_NE(refusal({dir.path() + "/."}), "") << "a directory";
  spec.directory = dir.path() + "/nosuch";
  EXPECT_EQ(refusal({"/bin/sh"}),
            "directory " + dir.path() + "/nosuch does not exist; create it, or choose another with --chdir");
}

TEST_F(LocalStart, WhatComesLaterMayMakeIt) {
  spec.dependencies = {{Dependency::kAfterOk, 3}};
  EXPECT_EQ(refusal({"nosuch.sh"}), "");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("may exist when it starts"), std::string::npos);
}

}  // namespace
}  // namespace smartmig::cli
