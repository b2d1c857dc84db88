#include "slurm/snapshot.h"

#include <gtest/gtest.h>

#include "slurm/dependency.h"
#include "slurm/slurm_commands.h"

namespace smartmig {
namespace {

// As 22.05 writes it, cut to what is read.
constexpr const char* kOld = R"(warning of a tool
{"meta":{},"errors":[],"jobs":[
 {"job_id":1,"array_job_id":0,"array_task_id":null,"array_task_string":"","priority":0,"job_state":"PENDING",
  "state_reason":"JobHeldUser","dependency":"","partition":"mig","admin_comment":"smartmig:mem=3M,slices=1","comment":"x",
  "user_id":7,"name":"wrap","standard_output":"o-%j","standard_error":"","current_working_directory":"/w","requeue":true,"submit_time":1000,"required_nodes":"","nodes":""},
 {"job_id":2,"array_job_id":2,"array_task_id":null,"array_task_string":"1-2,5-9:2%2","array_max_tasks":2,"priority":0,
  "job_state":"PENDING","comment":"a smartmig-hold","partition":"mig"},
 {"job_id":9,"array_job_id":2,"array_task_id":4,"array_task_string":"","priority":4294901758,"job_state":"RUNNING",
  "nodes":"n2","start_time":1010,"partition":"mig"}]})";
// As later versions write it.
constexpr const char* kNew = R"({"jobs":[
 {"job_id":5,"array_job_id":{"set":true,"infinite":false,"number":0},"array_task_id":{"set":false,"infinite":false,"number":0},
  "array_task_string":"","priority":{"set":true,"infinite":false,"number":0},"job_state":["PENDING"],"partition":"mig"},
 {"job_id":6,"job_state":["RUNNING","COMPLETING"],"nodes":"n1","partition":"mig"},
 {"job_id":7,"job_state":["COMPLETED"],"partition":"mig"},
 {"job_id":8,"array_job_id":{"set":true,"infinite":false,"number":8},"array_task_id":{"set":false,"infinite":false,"number":0},
  "array_task_string":"5","job_state":["PENDING"],"partition":"mig"}]})";

TEST(SlurmSnapshot, JobsTasksAndStates) {
  const auto jobs = parse_squeue_json(kOld);
  ASSERT_TRUE(jobs) << jobs.error().what;
  ASSERT_EQ(jobs->size(), 7u);
  EXPECT_EQ(to_string((*jobs)[0].name), "1");
  EXPECT_TRUE((*jobs)[0].held);
  EXPECT_FALSE((*jobs)[0].held_by_user);
  EXPECT_EQ((*jobs)[0].uid, 7u);
  EXPECT_EQ((*jobs)[0].output, "o-%j");
  EXPECT_EQ((*jobs)[0].directory, "/w");
  const int tasks[] = {1, 2, 5, 7, 9};
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ((*jobs)[std::size_t(i + 1)].name, (SlurmJobName{2, tasks[i]}));
    EXPECT_EQ((*jobs)[std::size_t(i + 1)].number, 0u);
    EXPECT_EQ((*jobs)[std::size_t(i + 1)].array_limit, 2);
    EXPECT_TRUE((*jobs)[std::size_t(i + 1)].held_by_user);
  }
  EXPECT_EQ(to_string((*jobs)[6].name), "2_4");
  EXPECT_EQ((*jobs)[6].number, 9u);
  EXPECT_EQ((*jobs)[6].phase, SlurmJob::kRunning);
}

TEST(SlurmSnapshot, LaterVersions) {
  const auto jobs = parse_squeue_json(kNew);
  ASSERT_TRUE(jobs) << jobs.error().what;
  ASSERT_EQ(jobs->size(), 4u);
  EXPECT_EQ(to_string((*jobs)[3].name), "8_5");
  EXPECT_EQ((*jobs)[3].number, 8u);
  EXPECT_EQ(to_string((*jobs)[0].name), "5");
  EXPECT_TRUE((*jobs)[0].held);
  EXPECT_EQ((*jobs)[1].phase, SlurmJob::kCompleting);
  EXPECT_EQ((*jobs)[2].phase, SlurmJob::kEnded);
  EXPECT_TRUE((*jobs)[2].completed());
}

TEST(SlurmSnapshot, WhatIsNoAnswerIsAnError) {
  for (const char* text :
       {"", "slurm_load_jobs error: Unable to contact slurm controller", "{}", "{\"jobs\":[1]}",
        R"({"jobs":[{"job_id":3,"array_job_id":3,"array_task_string":"x-y","job_state":"PENDING"}]})"})
    EXPECT_FALSE(parse_squeue_json(text)) << text;
}

TEST(SlurmSnapshot, ListsOfTasks) {
  EXPECT_EQ(*parse_task_list("0-3,7%2", 100), (std::vector<int>{0, 1, 2, 3, 7}));
  EXPECT_EQ(parse_task_list("0-999999999", 5)->size(), 5u);
  for (const char* text : {"", "a", "3-1", "1-", "-1", "1-5:0"}) EXPECT_FALSE(parse_task_list(text, 10)) << text;
}

TEST(SlurmSnapshot, Nodes) {
  const auto nodes = parse_sinfo(
      "n1|idle|10.0.0.1|mig:32\nn1|idle|10.0.0.1|mig:32\nn2|drained|n2|gpu:2,mig:16(S:0)\nn3|idle*|n3|(null)\n");
  ASSERT_TRUE(nodes);
  ASSERT_EQ(nodes->size(), 3u);
  EXPECT_TRUE((*nodes)[0].up);
  EXPECT_EQ((*nodes)[0].units, 32);
  EXPECT_FALSE((*nodes)[1].up);
  EXPECT_EQ((*nodes)[1].units, 16);
  EXPECT_FALSE((*nodes)[2].up);
  EXPECT_EQ((*nodes)[2].units, 0);
  EXPECT_FALSE(parse_sinfo("garbage"));
  const auto reasons =
      parse_sinfo("n1|drained|n1|mig:8|Prolog error\nn2|idle|n2|mig:8|none\nn3|drained|n3|mig:8|a | b|c\n");
  ASSERT_TRUE(reasons);
  EXPECT_EQ((*reasons)[0].reason, "Prolog error");
  EXPECT_EQ((*reasons)[1].reason, "");
  EXPECT_EQ((*reasons)[2].reason, "a | b|c");
}

TEST(SlurmDependencies, DoubtMeansYesAndAWaitingJobMeansNo) {
  SlurmJob first, second, task;
  first.name = {1, -1};
  first.number = 1;
  first.phase = SlurmJob::kRunning;
  first.title = "a";
  second.name = {2, -1};
  second.number = 2;
  second.title = "a";
  task.name = {3, 4};
  task.number = 8;
  const auto may = [&](const char* text) {
    second.dependency = text;
    return SlurmDependencies({first, second, task}).may_be_over(second);
  };
  EXPECT_TRUE(may(""));
  EXPECT_FALSE(may("afterok:1(unfulfilled)"));
  EXPECT_TRUE(may("after:1(unfulfilled)"));
  EXPECT_TRUE(may("afterok:77(unfulfilled)"));
  EXPECT_FALSE(may("afterok:77(unfulfilled),afterany:1(unfulfilled)"));
  EXPECT_TRUE(may("afterok:77(unfulfilled)?afterany:1(unfulfilled)"));
  EXPECT_FALSE(may("afterany:3_*(unfulfilled)"));
  EXPECT_FALSE(may("afterany:3_4(unfulfilled)"));
  EXPECT_TRUE(may("afterany:3_5(unfulfilled)"));
  EXPECT_FALSE(may("afterany:8(unfulfilled)"));
  EXPECT_FALSE(may("singleton(unfulfilled)"));
  first.phase = SlurmJob::kEnded;
  EXPECT_TRUE(may("afterok:1(failed)"));
  EXPECT_TRUE(may("singleton(unfulfilled)"));
}

TEST(SlurmCommands, TextsCannotEndALine) {
  EXPECT_EQ(scontrol_line({SlurmAction::kNote, {4, 2}, {}, "a \"b\"\nshutdown\n", 0}),
            "update JobId=4_2 AdminComment=\"a bshutdown\"\n");
  EXPECT_EQ(scontrol_line({SlurmAction::kPin, {4, -1}, "n1", {}, 0}), "update JobId=4 ReqNodeList=n1\n");
}

TEST(SlurmCommands, APinAndItsNoteAreOneRequest) {
  const std::vector<SlurmAction> actions = {{SlurmAction::kPin, {4, -1}, "n1", {}, 0},
                                            {SlurmAction::kNote, {4, -1}, {}, "used:\"x\"", 0},
                                            {SlurmAction::kRelease, {4, -1}, {}, {}, 0},
                                            {SlurmAction::kPin, {5, -1}, "n2", {}, 0},
                                            {SlurmAction::kNote, {6, -1}, {}, "other", 0}};
  const std::vector<std::string> lines = scontrol_lines(actions);
  EXPECT_EQ(lines,
            (std::vector<std::string>{"update JobId=4 ReqNodeList=n1 AdminComment=\"used:x\"\n", "release 4\n",
                                      "update JobId=5 ReqNodeList=n2\n", "update JobId=6 AdminComment=\"other\"\n"}));
  EXPECT_EQ(requests_of(lines), 3u + 1 + 3 + 1);
}

}  // namespace
}  // namespace smartmig
