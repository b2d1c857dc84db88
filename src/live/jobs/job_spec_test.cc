#include <gtest/gtest.h>

#include <csignal>

#include "live/jobs/job_fields.h"

namespace smartmig {
namespace {

constexpr UnixTime kNow = from_unix_us(1'763'222'400'000'000);

std::string refusal(const std::string& text) {
  const auto spec = parse_job_spec(text, kNow);
  return spec ? "accepted" : spec.error().what;
}

TEST(JobSpec, ACommandIsEnough) {
  const auto spec = parse_job_spec(R"({"command":["sleep","1"]})", kNow);
  ASSERT_TRUE(spec) << spec.error().what;
  EXPECT_EQ(spec->command, (std::vector<std::string>{"sleep", "1"}));
  EXPECT_EQ(spec->directory, "/");
  EXPECT_FALSE(spec->mem_mib);
  EXPECT_FALSE(spec->deadline);
  EXPECT_FALSE(spec->grace) << "the daemon's default";
  EXPECT_FALSE(spec->preemptible());
}

TEST(JobSpec, EveryFieldSurvivesTheWayToJsonAndBack) {
  const std::string text =
      R"({"command":["sh","-c","echo \"ä\"\n"],"script":"#!/bin/sh\necho\n","directory":"/tmp/x","environment":["A=b=c","E="],)"
      R"("name":"n","output":"%j.out","error":"%j.err","submit_directory":"/tmp","kind":"bert-infer","mem_mib":18432,"mem_estimate_mib":9,"mem_basis":"b","exact_memory":false,"prelaunch":true,"patient":false,"min_slices":3,"max_slices":4,"gpu_model":"h100","gpus":1,"pty":true,"deadline_at":1763222400.123456,)"
      R"("time_limit_s":0.5,"estimate_s":1200.0,"estimate_slices":3,"requeue":true,"once":true,"oom_retry":false,"checkpoint_signal":"USR1",)"
      R"("restart_s":20.5,"grace_s":12.25,)"
      R"("cpus":2.5,"host_mem_mib":1024,"priority":-7,"dependencies":["afterok:12","afterany:13","afternotok:14","after:15","singleton"],)"
      R"("group":"big","project":"p","idle_s":60.0,"reservation":"course","hold":true,"begin_at":1763222400.5,"mail":["end","time_limit"],"mail_user":"a@b.example",)"
      R"("array":[0,3,5],"array_limit":2})";
  const auto spec = parse_job_spec(text, kNow);
  ASSERT_TRUE(spec) << spec.error().what;
  EXPECT_EQ(spec->deadline, from_unix_us(1'763'222'400'123'456));
  EXPECT_EQ(spec->checkpoint_signal, SIGUSR1);
  EXPECT_EQ(spec->dependencies[2].when, Dependency::kAfterNotOk);
  EXPECT_EQ(spec->dependencies[1].job, 13u);
  EXPECT_EQ(to_json(*spec), Json::parse(text).dump());
  for (const JobField& field : job_fields()) {
    const std::string_view key = field.key;
    const bool said = text.find(fmt::format("\"{}\":", key)) != text.npos;
    const bool elsewhere = field.twin || key == "profile" || key == "exclusive" || key == "keep_alive" ||
                           key == "port" || key.starts_with("container");
    EXPECT_NE(said, elsewhere) << key << " is missing above";
  }
  const auto again = parse_job_spec(to_json(*spec), UnixTime{});
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(to_json(*again), to_json(*spec));
  EXPECT_EQ(to_json(*spec, false).find("A=b"), std::string::npos);
}

TEST(JobSpec, WhatCannotGoWithTheOthersSurvivesTheWayToJsonAndBack) {
  for (const char* key :
       {R"("profile":"1g.10gb+me")", R"("exclusive":true)", R"("keep_alive":true)", R"("port":8080)",
        R"("container":"debian","container_mounts":["/data:/data:ro"],"container_runtime":"podman")"}) {
    const auto spec = parse_job_spec(fmt::format(R"({{"command":["a"],{}}})", key), kNow);
    ASSERT_TRUE(spec) << spec.error().what;
    EXPECT_NE(to_json(*spec).find(key), std::string::npos);
    EXPECT_EQ(to_json(*parse_job_spec(to_json(*spec), kNow)), to_json(*spec));
  }
}

TEST(JobSpec, ARelativeDeadlineCountsFromAcceptance) {
  const auto spec = parse_job_spec(R"({"command":["a"],"deadline_s":7200})", kNow);
  ASSERT_TRUE(spec);
  EXPECT_EQ(*spec->deadline, kNow + Time(7'200'000'000));
  EXPECT_NE(refusal(R"({"command":["a"],"deadline_s":1,"deadline_at":2})").find("given twice"), std::string::npos);
}

TEST(JobSpec, WhatIsWrongIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"command":["a"],"memory":3})", "memory is not a key of this object"},
      {R"({"command":["a"],"begin_at":1,"begin_s":1})", "begin is given twice"},
      {R"({"command":["a"],"mail":["always"]})", "contains 'always'"},
      {R"({"command":["a"],"mail_user":"a b"})", "mail_user is neither a user nor an address"},
      {R"({"command":["a"],"mail_user":"-f"})", "mail_user is neither a user nor an address"},
      {R"({"command":["a"],"min_slice":3})", "did you mean min_slices?"},
      {R"({"name":"x"})", "command is missing"},
      {R"({"command":[]})", "command is missing"},
      {R"({"command":[""]})", "command is missing"},
      {R"({"command":"ls"})", "command must be a list"},
      {R"({"command":["a",3]})", "command must be a text"},
      {"{\"command\":[\"a\\u0000b\"]}", "command contains a control character"},
      {R"({"command":["a"],"directory":"tmp"})", "directory 'tmp' must be absolute"},
      {R"({"command":["a"],"environment":["=x"]})", "not NAME=value"},
      {R"({"command":["a"],"mem_mib":-1})", "mem_mib must be between"},
      {R"({"command":["a"],"mem_mib":1.5})", "mem_mib must be a whole number"},
      {R"({"command":["a"],"min_slices":99999999999999999999})", "min_slices must"},
      {R"({"command":["a"],"gpus":2})", "jobs on several GPUs are not supported"},
      {R"({"command":["a"],"min_slices":3,"max_slices":2})", "max_slices is 2, below min_slices, which is 3"},
      {R"({"command":["a"],"exclusive":true,"profile":"1g.5gb"})", "give only one of them"},
      {R"({"command":["a"],"exclusive":true,"max_slices":2})", "requests a whole GPU, but max_slices allows at most 2"},
      {R"({"command":["a"],"profile":"1g.5gb","min_slices":2})", "profile sets the size"},
      {R"({"command":["a"],"time_limit_s":0})", "time_limit_s must be between"},
      {R"({"command":["a"],"deadline_at":1e300})", "deadline_at must be between"},
      {R"({"command":["a"],"checkpoint_signal":"KILL"})", "not a signal that a program can catch"},
      {R"({"command":["a"],"requeue":"yes"})", "requeue must be true or false"},
      {R"({"command":["a"],"dependencies":["before:3"]})", "dependencies contain 'before:3'"},
      {R"({"command":["a"],"dependencies":["afterok:0"]})", "dependencies contain 'afterok:0'"},
      {R"({"command":["a"],"array":[1,1]})", "contains a task number twice"},
      {R"({"command":["a"],"array":[-1]})", "array must be between"},
      {R"({"command":["a"],"name":"a\nb"})", "name contains a control character"},
      {R"(["a"])", "must be a JSON object"},
      {R"({"command":["a"])", "not valid JSON"},
  };
  for (const auto& [text, words] : cases)
    EXPECT_NE(refusal(text).find(words), std::string::npos) << text << " -> " << refusal(text);
}

TEST(JobSpec, ALongCommandIsShownByItsBeginning) {
  const std::vector<std::string> short_one = {"sh", "-c", std::string(4'000, 'x')};
  EXPECT_EQ(shown_command(short_one), short_one);
  std::string euros;
  for (int i = 0; i < 3'000; ++i) euros += "\xE2\x82\xAC";
  const std::vector<std::string> one = {"sh", "-c", euros}, other = {"sh", "-c", euros + "y"};
  const auto shown = shown_command(one);
  ASSERT_EQ(shown.size(), 4u);
  EXPECT_EQ(shown[1], "-c");
  EXPECT_EQ(shown[2].size() % 3, 0u) << "no character is cut";
  EXPECT_LE(shown[2].size(), 1'024u);
  EXPECT_EQ(shown[3].substr(0, 14), "...(9007_bytes");
  EXPECT_EQ(shown_command(shown), shown) << "twice is the same as once";
  EXPECT_NE(shown_command(other), shown) << "others differ";
  JobSpec spec, back;
  spec.command = one;
  ASSERT_TRUE(take_launch(back, launch_json(spec)));
  EXPECT_EQ(back.command, one);
  spec.command = short_one;
  EXPECT_EQ(launch_json(spec), "");
}

}  // namespace
}  // namespace smartmig
