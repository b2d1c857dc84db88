#include "cli/queue/submission.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_dir.h"

namespace smartmig::cli {
namespace {

constexpr const char* kGpt2 =
    R"({"model_type":"gpt2","n_embd":768,"n_layer":12,"n_head":12,"vocab_size":50257,"n_positions":1024})";

JobSpec spec_of(std::vector<std::string> command, const TempDir& dir) {
  JobSpec spec;
  spec.command = std::move(command);
  spec.directory = dir.path();
  return spec;
}

TEST(ModelMemory, ToldModel) {
  const TempDir dir;
  ModelFacts told;
  told.set("model", "bert-base", "--model");
  told.set("batch", "32", "--batch");
  JobSpec spec = spec_of({"./train"}, dir);
  const auto note = estimate_job_memory(spec, told);
  ASSERT_TRUE(note) << note.error().what;
  ASSERT_TRUE(spec.mem_estimate_mib);
  EXPECT_NE(note->find(std::to_string(*spec.mem_estimate_mib) + " MiB"), std::string::npos) << *note;
  EXPECT_NE(spec.mem_basis.find("batch 32 (--batch)"), std::string::npos) << spec.mem_basis;
  told.set("model", "no-such-model", "--model");
  EXPECT_FALSE(estimate_job_memory(spec, told)) << "what was told must be";
}

TEST(ModelMemory, ToldMemoryWins) {
  const TempDir dir;
  JobSpec spec = spec_of({"python3", "run_clm.py", "--model_name_or_path", "gpt2"}, dir);
  spec.mem_mib = 4000;
  EXPECT_EQ(*estimate_job_memory(spec, {}), "");
  EXPECT_FALSE(spec.mem_estimate_mib);
}

TEST(ModelMemory, FilesOfTheModelInTheJobsDirectory) {
  const TempDir dir;
  dir.file("config.json", kGpt2);
  JobSpec spec = spec_of({"python3", "train.py"}, dir);
  ASSERT_TRUE(estimate_job_memory(spec, {}));
  EXPECT_TRUE(spec.mem_estimate_mib) << "its name says that it trains";
  JobSpec other = spec_of({"python3", "work.py"}, dir);
  const auto asks = estimate_job_memory(other, {});
  EXPECT_FALSE(other.mem_estimate_mib);
  EXPECT_NE(asks->find("--task"), std::string::npos) << *asks;
  JobSpec program = spec_of({"./program"}, dir);
  EXPECT_EQ(*estimate_job_memory(program, {}), "") << "nothing says that it has to do with the model";
}

TEST(ModelMemory, ANamedDirectoryAndHuggingFacesCache) {
  const TempDir dir;
  dir.file("mine/config.json", kGpt2);
  JobSpec spec = spec_of({"python3", "run_clm.py", "--model_name_or_path", "mine"}, dir);
  ASSERT_TRUE(estimate_job_memory(spec, {}));
  EXPECT_NE(spec.mem_basis.find("mine/config.json"), std::string::npos) << spec.mem_basis;
  dir.file("hub/models--some--one/refs/main", "abc\n");
  dir.file("hub/models--some--one/snapshots/abc/config.json", kGpt2);
  JobSpec cached = spec_of({"python3", "run_clm.py", "--model_name_or_path", "some/one"}, dir);
  cached.environment = {"HF_HUB_CACHE=" + dir.path() + "/hub"};
  ASSERT_TRUE(estimate_job_memory(cached, {}));
  EXPECT_TRUE(cached.mem_estimate_mib);
}

TEST(ModelMemory, DamagedFilesAreSaidAndNothingMore) {
  const TempDir dir;
  dir.file("mine/config.json", R"({"model_type":"gpt2","n_embd":"many"})");
  dir.file("bad.safetensors", "????????????????");
  JobSpec spec = spec_of({"python3", "run_clm.py", "--model_name_or_path", "mine"}, dir);
  const auto note = estimate_job_memory(spec, {});
  ASSERT_TRUE(note);
  EXPECT_NE(note->find("no memory estimate"), std::string::npos);
  EXPECT_FALSE(spec.mem_estimate_mib);
  JobSpec here = spec_of({"python3", "train.py"}, dir);
  ASSERT_TRUE(estimate_job_memory(here, {}));
  EXPECT_FALSE(here.mem_estimate_mib);
}

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
