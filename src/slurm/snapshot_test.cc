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
    EXPECT_EQ((*jobs)[std::size_t(i + 1)].name, (ClusterJobName{2, tasks[i]}));
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

// As 22.05 prints it, with 0 as its exit code, while slurmctld is gone.
TEST(SlurmSnapshot, AReplyWithErrorsIsAnError) {
  const auto jobs = parse_squeue_json(
      R"({"meta":{},"errors":[{"description":"Failed while looking for jobs","error_number":-1,"error":"Unspecified error",)"
      R"("source":"slurm_load_jobs"}],"jobs":[]})");
  ASSERT_FALSE(jobs);
  EXPECT_EQ(jobs.error().what, "squeue --json: Failed while looking for jobs (slurm_load_jobs)");
  EXPECT_FALSE(parse_squeue_json(R"({"errors":["?"],"jobs":[]})"));
  EXPECT_FALSE(parse_squeue_json(R"({"errors":{},"jobs":[]})"));
  EXPECT_TRUE(parse_squeue_json(R"({"errors":[],"warnings":["x"],"jobs":[]})"));
  EXPECT_TRUE(parse_squeue_json(R"({"errors":null,"jobs":[]})"));
}

TEST(SlurmSnapshot, WhatAJobAsksOfANode) {
  const auto jobs = parse_squeue_json(
      R"({"errors":[],"jobs":[{"job_id":1,"job_state":"PENDING","cpus":24,"memory_per_node":3072,"memory_per_cpu":null,)"
      R"("features":"big&fast","excluded_nodes":"n[1-2]","resv_name":"r1","shared":null},)"
      R"({"job_id":2,"job_state":["PENDING"],"cpus":{"set":true,"infinite":false,"number":4},)"
      R"("memory_per_node":{"set":false,"infinite":false,"number":0},"memory_per_cpu":{"set":true,"infinite":false,"number":100},)"
      R"("shared":["none"]},{"job_id":3,"job_state":"PENDING"}]})");
  ASSERT_TRUE(jobs) << jobs.error().what;
  EXPECT_EQ((*jobs)[0].cpus, 24);
  EXPECT_EQ((*jobs)[0].mem_mib, 3072);
  EXPECT_EQ((*jobs)[0].features, "big&fast");
  EXPECT_EQ((*jobs)[0].excluded_nodes, "n[1-2]");
  EXPECT_EQ((*jobs)[0].reservation, "r1");
  EXPECT_FALSE((*jobs)[0].whole_node);
  EXPECT_EQ((*jobs)[1].cpus, 4);
  EXPECT_EQ((*jobs)[1].mem_mib, 400);
  EXPECT_TRUE((*jobs)[1].whole_node);
  EXPECT_EQ((*jobs)[2].cpus, 1);
  EXPECT_EQ((*jobs)[2].mem_mib, 0);
}

TEST(SlurmSnapshot, ListsOfTasks) {
  EXPECT_EQ(*parse_task_list("0-3,7%2", 100), (std::vector<int>{0, 1, 2, 3, 7}));
  EXPECT_EQ(parse_task_list("0-999999999", 5)->size(), 5u);
  for (const char* text : {"", "a", "3-1", "1-", "-1", "1-5:0"}) EXPECT_FALSE(parse_task_list(text, 10)) << text;
}

TEST(SlurmSnapshot, Nodes) {
  auto nodes = parse_sinfo(
      "n1    |idle  |10.0.0.1|mig:32|mig   |(null)|2/62/0/64|100000|3072|none\n"
      "n1    |idle  |10.0.0.1|mig:32|long* |(null)|2/62/0/64|100000|3072|none\n"
      "n2|drained|n2|gpu:2,mig:16(S:0)|mig|big,old|0/0/8/8|500|0|a | b|c\n"
      "n3|idle*|n3|(null)|mig|(null)|x|y|z|Prolog error\n"
      "n4|reserved|n4|mig:8|mig|(null)|0/8/0/8|500|0|none\n");
  ASSERT_TRUE(nodes) << nodes.error().what;
  ASSERT_EQ(nodes->size(), 4u);
  const SlurmNode &first = (*nodes)[0], &second = (*nodes)[1], &third = (*nodes)[2], &fourth = (*nodes)[3];
  EXPECT_TRUE(first.up);
  EXPECT_EQ(first.name, "n1");
  EXPECT_EQ(first.address, "10.0.0.1");
  EXPECT_EQ(first.units, 32);
  EXPECT_EQ(first.partitions, (std::vector<std::string>{"mig", "long"}));
  EXPECT_TRUE(first.features.empty());
  EXPECT_EQ(first.cpus, 64);
  EXPECT_EQ(first.cpus_taken, 2);
  EXPECT_EQ(first.mem_mib, 100000);
  EXPECT_EQ(first.mem_taken_mib, 3072);
  EXPECT_EQ(first.reason, "");
  EXPECT_FALSE(second.up);
  EXPECT_EQ(second.units, 16);
  EXPECT_EQ(second.features, (std::vector<std::string>{"big", "old"}));
  EXPECT_EQ(second.reason, "a | b|c");
  EXPECT_FALSE(third.up);
  EXPECT_EQ(third.units, 0);
  EXPECT_EQ(third.cpus, 0);
  EXPECT_EQ(third.reason, "Prolog error");
  EXPECT_FALSE(parse_sinfo("garbage"));
  EXPECT_FALSE(fourth.up);
  add_reservations(
      "ReservationName=r1 StartTime=2026-11-18T19:56:12 Nodes=n[1,4] NodeCnt=2 State=ACTIVE Users=root\n"
      "ReservationName=later Nodes=n2 State=INACTIVE\nNo reservations in the system\n",
      *nodes);
  EXPECT_TRUE(fourth.up);
  EXPECT_EQ(fourth.reservations, (std::vector<std::string>{"r1"}));
  EXPECT_EQ(first.reservations, (std::vector<std::string>{"r1"}));
  EXPECT_TRUE(second.reservations.empty());
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
  EXPECT_EQ(scontrol_line({SlurmAction::kNote, {4, 2}, {}, "smartmig:mem=4M;used:\"x\"", 0}),
            "update JobId=4_2 AdminComment=smartmig:mem=4M;used:x\n")
      << "scontrol would keep quotes";
  EXPECT_EQ(scontrol_line({SlurmAction::kAccount, {4, 2}, {}, "joules=7", 4}),
            "modify job where jobid=4_2 set admincomment=\"joules=7\"\n")
      << "the number of the last task means the whole array";
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
            (std::vector<std::string>{"update JobId=4 ReqNodeList=n1 AdminComment=used:x\n", "release 4\n",
                                      "update JobId=5 ReqNodeList=n2\n", "update JobId=6 AdminComment=other\n"}));
  EXPECT_EQ(requests_of(lines), 3u + 1 + 3 + 1);
}

}  // namespace
}  // namespace smartmig
