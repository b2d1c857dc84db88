#include "eval/state_json.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace smartmig {
namespace {

const CostModel kPaperCost{CostModel::kPaper, {}}, kHardwareCost{CostModel::kHardware, {}};

// One GPU cut in 4g@0 2g@4 1g@6: a runs half done on 4g, b waits untouched, c waits with a quarter left, d runs on 1g.
Json hand_made() {
  return Json::parse(R"({
    "smartmig_state": 1, "now_s": 100,
    "gpus": [{"model": "a100-40gb", "layout": "4g@0+2g@4+1g@6"}, {"model": "a30-24gb", "layout": "2g+1g+1g"}],
    "jobs": [
      {"id": "b", "submit_s": 90, "deadline_s": 150, "work_s": {"1g": 80, "2g": 40, "7g": 10}},
      {"id": "a", "submit_s": 0, "deadline_s": 400.5, "work_s": {"1g": 400, "2g": 200, "3g": 150, "4g": 100, "7g": 60}, "remaining": 0.5, "gpu": 0, "slice": "4g@0"},
      {"id": "c", "submit_s": 20, "work_s": {"1g": 1000, "2g": 400}, "remaining": 0.25, "restart_s": 7},
      {"id": "d", "submit_s": 50, "deadline_s": null, "kind": "bert-infer", "work_s": {"1g": 30}, "mem_mib": 1000, "gpu": 0, "slice": "1g@6"}]})");
}

Result<FleetState> parse(const Json& json, const CostModel& cost = kPaperCost) {
  return parse_state("state", json.dump(), cost);
}

// The job of that name.
JobId job(const FleetState& state, std::string_view name) {
  const Workload& workload = state.cluster.jobs().workload();
  for (std::size_t j = 0; j < workload.jobs.size(); ++j)
    if (workload.name_of(j) == name) return JobId(j);
  return kNoJob;
}

TEST(StateJson, HandMadeState) {
  for (const CostModel& cost : {kPaperCost, kHardwareCost}) {
    const auto state = parse(hand_made(), cost);
    ASSERT_TRUE(state) << state.error().what;
    const Cluster& cluster = state->cluster;
    EXPECT_EQ(cluster.now(), from_seconds(100));
    EXPECT_EQ(cluster.platform().spec(), "1xa100-40gb,1xa30-24gb");
    EXPECT_EQ(cluster.unfinished(), 4u);
    EXPECT_EQ(cluster.running(), 2u);
    EXPECT_EQ(cluster.total_joules(), 0) << "joules count from now";
    EXPECT_TRUE(cluster.news().empty());
    EXPECT_EQ(to_string(*cluster.platform().model(GpuId(0)).gpu, cluster.gpu(GpuId(0)).layout),
              "4g.20gb@0+2g.10gb@4+1g.5gb@6");
    EXPECT_EQ(cluster.gpu(GpuId(1)).layout.size(), 3);
    EXPECT_EQ(cluster.gpu(GpuId(1)).layout, cluster.gpu(GpuId(1)).target);

    EXPECT_EQ(index(job(*state, "a")), 0u) << "jobs are in order of submit";
    EXPECT_EQ(index(job(*state, "b")), 3u);
    const JobState& a = cluster.state(job(*state, "a"));
    EXPECT_EQ(a.phase, JobPhase::kRunning);
    EXPECT_EQ(a.finish, from_seconds(150));
    EXPECT_EQ(cluster.jobs().job(job(*state, "a")).deadline, from_seconds(400.5));
    const JobState& d = cluster.state(job(*state, "d"));
    EXPECT_EQ(d.finish, from_seconds(130));
    EXPECT_EQ(cluster.jobs().job(job(*state, "d")).deadline, kNever);

    const TypeId two =
        cluster.platform().type_of(GpuId(0), *parse_layout(*cluster.platform().model(GpuId(0)).gpu, "2g@4")->begin());
    EXPECT_EQ(cluster.state(job(*state, "c")).phase, JobPhase::kQueued);
    EXPECT_EQ(cluster.remaining_on(job(*state, "c"), two), from_seconds(100));
    EXPECT_EQ(cluster.finish_on(job(*state, "c"), two), from_seconds(cost.free() ? 200 : 207)) << "a restart costs 7 s";
    EXPECT_EQ(cluster.remaining_on(job(*state, "b"), two), from_seconds(40));
    EXPECT_EQ(cluster.state(job(*state, "b")).type, kNoType) << "b never ran";
  }
}

TEST(StateJson, ShapesAndPaperNumbersKeepWhatRuns) {
  Json json = hand_made();
  json["gpus"][1] = {{"model", "a100-40gb"}, {"layout", "1g*4+3g"}};
  json["jobs"][0]["gpu"] = 1;
  json["jobs"][0]["slice"] = "1g.5gb@3";
  const auto state = parse(json);
  ASSERT_TRUE(state) << state.error().what;
  EXPECT_EQ(state->cluster.running(), 3u);
  json["gpus"][1]["layout"] = "1";
  json["jobs"][0].erase("gpu");
  json["jobs"][0].erase("slice");
  const auto whole = parse(json);
  ASSERT_TRUE(whole) << whole.error().what;
  EXPECT_EQ(whole->cluster.gpu(GpuId(1)).layout.size(), 1);
}

TEST(StateJson, EstimateFollowsTheKind) {
  Json json = hand_made();
  json["jobs"][0] = {{"id", "e"}, {"submit_s", 1}, {"kind", "bert-train"}, {"estimate_s", 60}};
  const auto state = parse(json);
  ASSERT_TRUE(state) << state.error().what;
  const Job& estimated = state->cluster.jobs().job(job(*state, "e"));
  EXPECT_EQ(estimated.work_on(7), from_seconds(60));
  EXPECT_GT(estimated.work_on(1), estimated.work_on(2));
  EXPECT_GT(estimated.work_on(2), estimated.work_on(7));
}

TEST(StateJson, TargetUnderHardwareCosts) {
  Json json = hand_made();
  json["gpus"][0]["target"] = "4g@0+3g@4";
  const auto state = parse(json, kHardwareCost);
  ASSERT_TRUE(state) << state.error().what;
  EXPECT_EQ(to_string(*state->cluster.platform().model(GpuId(0)).gpu, state->cluster.gpu(GpuId(0)).usable()),
            "4g.20gb@0");
  EXPECT_FALSE(parse(json, kPaperCost));
  json["gpus"][0]["target"] = "4g+2g+1g";
  EXPECT_TRUE(parse(json, kPaperCost)) << "the layout itself";
}

struct Broken {
  const char* pointer;  // what to replace, a JSON pointer
  const char* value;    // JSON; empty: the key is taken away
  const char* says;
};

TEST(StateJson, EveryMistakeIsNamedByItsPath) {
  const Broken cases[] = {
      {"", "[]", "its root must be an object"},
      {"/smartmig_state", "", "smartmig_state is missing"},
      {"/smartmig_state", "2", "smartmig_state is version 2"},
      {"/smartmig_state", "\"1\"", "smartmig_state must be a whole number"},
      {"/now_s", "", "now_s is missing"},
      {"/now_s", "\"1\"", "now_s must be a number"},
      {"/now_s", "-1", "now_s must be between"},
      {"/now_s", "1e11", "now_s must be between"},
      {"/now_s", "60", "jobs[0].submit_s is 90, after now_s"},
      {"/nows", "1", "nows is not a key of this object, did you mean now_s?"},
      {"/power", "\"steam\"", "power cannot be used"},
      {"/power", "3", "power must be a text"},
      {"/days", "0", "days must be between"},
      {"/span_jobs", "0", "span_jobs must be between"},
      {"/reference_gpu", "\"a100\"", "reference_gpu names no known GPU"},
      {"/gpus", "", "gpus is missing"},
      {"/gpus", "{}", "gpus must be a list"},
      {"/gpus", "[]", "gpus must hold at least one GPU"},
      {"/gpus/0", "7", "gpus[0] must be an object"},
      {"/gpus/0/model", "\"a100-41gb\"", "gpus[0].model names no known GPU"},
      {"/gpus/0/layout", "", "gpus[0].layout is missing"},
      {"/gpus/0/layout", "\"4g@0+4g@0\"", "gpus[0].layout is wrong"},
      {"/gpus/0/layout", "\"5g\"", "gpus[0].layout is wrong"},
      {"/gpus/0/layout", "\"13\"", "gpus[0].layout is wrong"},
      {"/gpus/0/layout", "\"1g.5gb+me\"", "gpus[0].layout '1g.5gb+me' contains profiles"},
      {"/gpus/0/layout", "\"7g\"", "jobs[1].slice is not in the layout of GPU 0"},
      {"/gpus/0/layouts", "\"7g\"", "gpus[0].layouts is not a key"},
      {"/gpus/0/target", "\"7g@1\"", "gpus[0].target is wrong"},
      {"/gpus/0/target", "\"7g\"", "gpus[0].target differs from the layout"},
      {"/jobs", "", "jobs is missing"},
      {"/jobs", "null", "jobs is missing"},
      {"/jobs/2", "null", "jobs[2] must be an object"},
      {"/jobs/2/prio", "1", "jobs[2].prio is not a key"},
      {"/jobs/2/id", "", "jobs[2].id is missing"},
      {"/jobs/2/id", "3", "jobs[2].id must be a text"},
      {"/jobs/2/id", "\"\"", "jobs[2].id must not be empty"},
      {"/jobs/2/id", "\"a\\u0000\"", "jobs[2].id has a control character"},
      {"/jobs/2/id", "\"b\"", "jobs[2].id 'b' is given twice"},
      {"/jobs/2/submit_s", "", "jobs[2].submit_s is missing"},
      {"/jobs/2/submit_s", "-3", "jobs[2].submit_s must be between"},
      {"/jobs/2/deadline_s", "-3", "jobs[2].deadline_s must be between"},
      {"/jobs/2/deadline_s", "\"soon\"", "jobs[2].deadline_s must be a number"},
      {"/jobs/2/kind", "[]", "jobs[2].kind must be a text"},
      {"/jobs/2/work_s", "", "jobs[2].work_s or estimate_s is required"},
      {"/jobs/2/estimate_s", "10", "jobs[2].work_s or estimate_s is required, and not both"},
      {"/jobs/2/work_s", "12", "jobs[2].work_s must be an object"},
      {"/jobs/2/work_s", "{}", "jobs[2].work_s must hold at least one of 1g"},
      {"/jobs/2/work_s/5g", "12", "jobs[2].work_s.5g is not a key"},
      {"/jobs/2/work_s/1g", "-1", "jobs[2].work_s.1g must be between"},
      {"/jobs/2/work_s/1g", "[1]", "jobs[2].work_s.1g must be a number"},
      {"/jobs/2/mem_mib", "1.5", "jobs[2].mem_mib must be a whole number"},
      {"/jobs/2/mem_mib", "18446744073709551615", "jobs[2].mem_mib must be between"},
      {"/jobs/2/mem_mib", "2000000", "jobs[2].work_s cannot be used: job c needs 2000000 MiB"},
      {"/jobs/2/restart_s", "-1", "jobs[2].restart_s must be between"},
      {"/jobs/2/remaining", "1.01", "jobs[2].remaining must be between 0 and 1"},
      {"/jobs/2/remaining", "-0.5", "jobs[2].remaining must be between 0 and 1"},
      {"/jobs/2/gpu", "0", "jobs[2].slice is missing"},
      {"/jobs/2/slice", "\"2g@4\"", "jobs[2].gpu is missing"},
      {"/jobs/1/gpu", "2", "jobs[1].gpu must be between 0 and 1"},
      {"/jobs/1/gpu", "-1", "jobs[1].gpu must be between 0 and 1"},
      {"/jobs/1/gpu", "0.0", "jobs[1].gpu must be a whole number"},
      {"/jobs/1/slice", "\"4g\"", "jobs[1].slice is wrong"},
      {"/jobs/1/slice", "\"4g@0+2g@4\"", "jobs[1].slice must name one slice"},
      {"/jobs/1/slice", "\"empty\"", "jobs[1].slice must name one slice"},
      {"/jobs/1/slice", "\"3g@0\"", "jobs[1].slice is not in the layout of GPU 0"},
      {"/jobs/1/slice", "\"1g@6\"", "jobs[3].slice is shared with the slice of another job"},
      {"/jobs/1/slice", "\"7g@0\"", "jobs[3].slice cannot exist together with the slice of another job"},
      {"/jobs/3/slice", "\"2g@4\"", "jobs[3].slice does not fit job d"},
  };
  for (const Broken& broken : cases) {
    Json json = hand_made();
    const Json::json_pointer pointer(broken.pointer);
    if (*broken.value)
      json[pointer] = Json::parse(broken.value);
    else
      json[pointer.parent_pointer()].erase(pointer.back());
    const auto state = parse(json);
    ASSERT_FALSE(state) << broken.pointer << " = " << broken.value;
    EXPECT_TRUE(state.error().what.starts_with(std::string("state: ") + broken.says))
        << broken.pointer << " = " << broken.value << "\n"
        << state.error().what;
  }
}

TEST(StateJson, EstimateNeedsAMeasuredKind) {
  for (const char* kind : {"", "tetris-train"}) {
    Json json = hand_made();
    json["jobs"][0] = {{"id", "e"}, {"submit_s", 1}, {"estimate_s", 60}};
    if (*kind) json["jobs"][0]["kind"] = kind;
    const auto state = parse(json);
    ASSERT_FALSE(state);
    EXPECT_TRUE(state.error().what.starts_with("state: jobs[0].estimate_s needs a kind")) << state.error().what;
  }
}

TEST(StateJson, MalformedText) {
  const auto says = [](std::string_view text) {
    const auto state = parse_state("x.json", text, kPaperCost);
    return state ? std::string("accepted") : state.error().what;
  };
  EXPECT_EQ(says(""), "x.json is not valid JSON: line 1, column 1");
  EXPECT_EQ(says("{\"now_s\":\n  NaN}"), "x.json is not valid JSON: line 2, column 3");
  EXPECT_EQ(says("{\"now_s\": 1e999}"), "x.json is not valid JSON: a number is out of range");
  EXPECT_EQ(says("{\"now_s\": 1, \"now_s\": 2}"), "x.json: an object has the key 'now_s' twice");
  EXPECT_NE(says("{} {}").find("not valid JSON"), std::string::npos);
  EXPECT_NE(says("{\"a\": \"\xff\"}").find("not valid JSON"), std::string::npos);
  EXPECT_NE(says(std::string(100000, '[')).find("not valid JSON"), std::string::npos);
  EXPECT_EQ(says(std::string(100000, '[') + std::string(100000, ']')), "x.json: its root must be an object");
}

TEST(StateJson, ProgressMayTakeLongerThanAnyClock) {
  Json json = hand_made();
  Json& jobs = json["jobs"];
  for (int i = 0; i < 20; ++i)
    jobs.push_back({{"id", "long" + std::to_string(i)}, {"submit_s", 0}, {"work_s", {{"1g", 1e10}}}, {"remaining", 0}});
  const auto state = parse(json);
  ASSERT_TRUE(state) << state.error().what;
  EXPECT_EQ(state->cluster.unfinished(), 24u);
  EXPECT_EQ(state->cluster.now(), from_seconds(100));
}

}  // namespace
}  // namespace smartmig
