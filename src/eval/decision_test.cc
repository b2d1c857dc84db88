#include "eval/decision.h"

#include <gtest/gtest.h>

#include <ostream>
#include <set>
#include <tuple>

#include "base/json.h"
#include "eval/experiment.h"
#include "sim/simulate.h"

namespace smartmig {
namespace {

// The state of a cluster in the form of docs/decide.md.
std::string to_state_json(const Cluster& cluster) {
  const Workload& workload = cluster.jobs().workload();
  Json json{{"smartmig_state", 1},
            {"now_s", seconds(cluster.now())},
            {"reference_gpu", workload.reference_gpu},
            {"days", workload.days},
            {"power", cluster.platform().power_spec()},
            {"span_jobs", workload.jobs.size()},
            {"gpus", Json::array()},
            {"jobs", Json::array()}};
  for (std::size_t g = 0; g < cluster.gpus().size(); ++g) {
    const GpuModel& model = *cluster.platform().model(GpuId(g)).gpu;
    json["gpus"].push_back({{"model", model.name()},
                            {"layout", to_string(model, cluster.gpus()[g].layout)},
                            {"target", to_string(model, cluster.gpus()[g].target)}});
  }
  for (JobId id = cluster.first_unfinished(); id != kNoJob; id = cluster.next_unfinished(id)) {
    const Job& job = workload.jobs[index(id)];
    const JobState& state = cluster.state(id);
    Json out{{"id", workload.name_of(index(id))}, {"submit_s", seconds(job.submit)}, {"work_s", Json::object()}};
    for (int k = 1; k <= kMaxComputeSlices; ++k)
      if (job.work_on(k) != kCannotRun) out["work_s"][fmt::format("{}g", k)] = seconds(job.work_on(k));
    if (job.deadline != kNever) out["deadline_s"] = seconds(job.deadline);
    if (job.kind >= 0) out["kind"] = workload.kind_of(job);
    if (job.mem_mib >= 0) out["mem_mib"] = job.mem_mib;
    if (job.restart >= Time{0}) out["restart_s"] = seconds(job.restart);
    if (state.type != kNoType)
      out["remaining"] = double(cluster.remaining_on(id, state.type).count()) /
                         std::max(1.0, double(cluster.jobs().work(id, state.type).count()));
    if (state.phase == JobPhase::kRunning) {
      const GpuModel& model = *cluster.platform().model(state.gpu).gpu;
      out["gpu"] = index(state.gpu);
      out["slice"] = fmt::format("{}@{}", model.profile_of(state.where).name, model.placement(state.where).start);
    }
    json["jobs"].push_back(std::move(out));
  }
  return json.dump();
}

// What a plan does, up to which of the equal slices of a GPU model a job gets.
using Doings = std::set<std::tuple<std::string, std::string, std::uint32_t>>;
Doings doings(const Cluster& cluster, const Plan& plan) {
  const Workload& workload = cluster.jobs().workload();
  Doings out;
  for (JobId job : plan.stops) out.emplace("stop", workload.name_of(index(job)), 0);
  for (const Reshape& reshape : plan.reshapes)
    out.emplace("reshape", std::to_string(index(reshape.gpu)), reshape.to.bits());
  for (const Start& start : plan.starts)
    out.emplace("start", workload.name_of(index(start.job)), index(cluster.platform().type_of(start.gpu, start.where)));
  return out;
}

struct Recorded {
  std::string json;
  Doings did;
};

// Keeps what the policy saw and did, every few decisions.
class Recorder : public Policy {
 public:
  Recorder(Policy& policy, std::uint64_t every) : policy_(policy), every_(every) {}
  void decide(const Cluster& cluster, Plan& plan) override {
    policy_.decide(cluster, plan);
    if (cluster.decision() % every_ == 0 || !plan.reshapes.empty())
      recorded.push_back({to_state_json(cluster), doings(cluster, plan)});
  }
  std::vector<Recorded> recorded;

 private:
  Policy& policy_;
  std::uint64_t every_;
};

struct Case {
  const char *policy, *layouts, *gpus, *workload, *cost, *power = "auto";
  friend std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.policy << " on " << c.gpus << ", " << c.cost << " costs";
  }
};

constexpr std::string_view kTwice =
    R"({"smartmig_layouts": 1, "kind": "twice", "gpus": "2xa100-40gb", "placer": "edf", "workload": "paper:20x",
  "day": ["4g+2g+1g", "3g+3g"], "night": ["3g+2g+2g", "7g"], "day_begin": 8, "night_begin": 20, "seeds": [1]})";

class SameAsTheSimulator : public testing::TestWithParam<Case> {};

TEST_P(SameAsTheSimulator, AtTheSameInstant) {
  const Case& c = GetParam();
  const CostModel cost = *CostModel::parse(c.cost);
  const auto platform = std::make_shared<Platform>(Platform::parse(c.gpus, c.power).value());
  auto workload = std::make_shared<Workload>(load_workload(c.workload).value());
  const auto jobs = std::make_shared<JobTable>(JobTable::bind(workload, *platform).value());
  PolicyOptions options;
  options.layouts = c.layouts;
  if (std::string_view(c.policy).starts_with("twice+")) {
    options.layouts = testing::TempDir() + "decision_test_twice.json";
    ASSERT_TRUE(write_file(options.layouts, kTwice));
  }
  const Setting setting{platform, c.workload, cost, {}, {}};
  options.rule.a = energy_weight(setting, *workload);
  options.rule.w = per_job_weight(setting, *workload);
  auto named = make_policy(c.policy, options, cost, *platform);
  ASSERT_TRUE(named) << named.error().what;
  Recorder recorder(*named->policy, 5);
  ASSERT_TRUE(simulate({platform, jobs, cost, initial_layouts(*platform, named->initial).value()}, recorder));
  ASSERT_GT(recorder.recorded.size(), 20u);
  std::size_t busy = 0;
  for (const Recorded& recorded : recorder.recorded) {
    const auto state = parse_state("state", recorded.json, cost);
    ASSERT_TRUE(state) << state.error().what << "\n" << recorded.json;
    auto policy = policy_for(*state, c.policy, options);
    ASSERT_TRUE(policy) << policy.error().what;
    const auto decision = decide(*state, *policy->policy);
    ASSERT_TRUE(decision) << decision.error().what << "\n" << recorded.json;
    EXPECT_EQ(doings(state->cluster, decision->plan), recorded.did) << recorded.json;
    busy += !decision->plan.stops.empty() || !decision->plan.starts.empty();
  }
  EXPECT_GT(busy, 5u) << "decisions that do something";
}

INSTANTIATE_TEST_SUITE_P(
    Policies, SameAsTheSimulator,
    testing::Values(Case{"static+cedf", "4g+2g+1g,3g+3g", "2xa100-40gb", "paper:5x,seed=3,hours=6-12,slack=1-8",
                         "paper"},
                    Case{"static+edf", "4g+2g+1g", "1xa100-40gb", "paper:3x,seed=4,hours=6-12,slack=1-8", "paper"},
                    Case{"static+met-w", "4g+2g+1g,3g+3g", "2xa100-40gb", "paper:5x,seed=5,hours=8-12", "paper"},
                    Case{"none+fifo", "", "2xa100-40gb", "paper:10x,seed=6,hours=8-10", "paper"},
                    Case{"static+cedf", "4g+2g+1g,3g+3g", "2xa100-40gb", "paper:10x,seed=7,hours=8-10", "hardware"},
                    Case{"twice+cedf", "", "2xa100-40gb", "paper:6x,seed=9,hours=6-10,slack=1-8", "paper"},
                    Case{"twice+edf", "", "2xa100-40gb", "paper:10x,seed=10,hours=7-9", "hardware"},
                    Case{"static+llf-slow", "2g+1g+1g", "2xa30-24gb", "paper:5x,seed=8,hours=8-10", "hardware",
                         "linear:30:30:165"}));

const char* const kPartWay = R"({"smartmig_state": 1, "now_s": 100,
  "gpus": [{"model": "a100-40gb", "layout": "4g@0+2g@4+1g@6"}],
  "jobs": [
    {"id": "long", "submit_s": 0, "deadline_s": 1000, "work_s": {"1g": 700, "2g": 350, "3g": 240, "4g": 180, "7g": 100}, "remaining": 0.5, "gpu": 0, "slice": "4g@0"},
    {"id": "small", "submit_s": 10, "deadline_s": 500, "work_s": {"1g": 100}, "remaining": 0.9, "gpu": 0, "slice": "1g@6"},
    {"id": "urgent", "submit_s": 100, "deadline_s": 210, "work_s": {"4g": 105, "7g": 60}},
    {"id": "never", "submit_s": 100, "work_s": {"7g": 60}}]})";

Json decide_json(std::string_view text, const char* policy, const char* layouts, const char* cost,
                 std::string* raw = nullptr) {
  const auto state = parse_state("state", text, *CostModel::parse(cost));
  if (!state) return state.error().what;
  PolicyOptions options;
  options.layouts = layouts;
  auto named = policy_for(*state, policy, options);
  if (!named) return named.error().what;
  const auto decision = decide(*state, *named->policy);
  if (!decision) return decision.error().what;
  const std::string json = to_json(*state, named->name, *decision, false);
  if (raw) *raw = json;
  return Json::parse(json);
}

TEST(Decision, JsonOfAPlan) {
  std::string raw;
  const Json plan = decide_json(kPartWay, "static+edf", "", "paper", &raw);
  EXPECT_EQ(
      raw.substr(0, 140),
      R"({"smartmig_plan":1,"now_s":100.0,"policy":"static+edf","cost":"paper","stops":["long"],"reshapes":[],"starts":[{"job":"long","gpu":0,"slice")");
  EXPECT_EQ(plan["starts"], Json::parse(R"([
    {"job": "long", "gpu": 0, "slice": "2g.10gb@4", "type": "2g.10gb", "expected_finish_s": 275.0, "on_time": true},
    {"job": "urgent", "gpu": 0, "slice": "4g.20gb@0", "type": "4g.20gb", "expected_finish_s": 205.0, "on_time": true}])"));
  EXPECT_EQ(
      plan["keeps"],
      Json::parse(
          R"([{"job": "small", "gpu": 0, "slice": "1g.5gb@6", "type": "1g.5gb", "expected_finish_s": 190.0, "on_time": true}])"));
  EXPECT_EQ(plan["waits"], Json::parse(R"(["never"])"));
}

TEST(Decision, FixedLayoutsAreAskedFor) {
  const Json plan = decide_json(kPartWay, "static+edf", "3g+3g", "paper");
  EXPECT_EQ(plan["reshapes"],
            Json::parse(R"([{"gpu": 0, "from": "4g.20gb@0+2g.10gb@4+1g.5gb@6", "to": "3g.20gb@0+3g.20gb@4",
    "destroy": ["4g.20gb@0", "2g.10gb@4", "1g.5gb@6"], "drain": [], "create": ["3g.20gb@0", "3g.20gb@4"], "keep": []}])"));
  EXPECT_EQ(plan["stops"], Json::parse(R"(["long", "small"])"));
  EXPECT_EQ(plan["starts"].size(), 1u);
  EXPECT_EQ(plan["starts"][0]["job"], "long");
  EXPECT_EQ(decide_json(kPartWay, "none+edf", "", "paper")["reshapes"][0]["to"], "7g.40gb@0");
}

TEST(Decision, HardwareCostsDrainAndStopNothing) {
  const Json plan = decide_json(kPartWay, "static+edf", "3g+2g+2g", "hardware");
  EXPECT_TRUE(plan["stops"].empty());
  EXPECT_TRUE(plan["starts"].empty()) << "what is to be made does not exist yet, and 2g suits nobody who waits";
  ASSERT_EQ(plan["reshapes"].size(), 1u);
  EXPECT_FALSE(plan["reshapes"][0]["drain"].empty());
  EXPECT_EQ(plan["keeps"].size(), 2u);
  EXPECT_EQ(plan["waits"], Json::parse(R"(["urgent", "never"])"));
}

TEST(Decision, EveryPolicyGivesALegalPlan) {
  for (const char* cost : {"paper", "hardware"})
    for (const std::string& placer : placer_names())
      for (const char* half : {"none+", "static+"}) {
        const Json plan = decide_json(kPartWay, (half + placer).c_str(), "", cost);
        EXPECT_TRUE(plan.is_object()) << half << placer << ": " << plan;
      }
}

TEST(Decision, NoJobsNoPlan) {
  const Json plan =
      decide_json(R"({"smartmig_state":1,"now_s":0,"gpus":[{"model":"a30-24gb","layout":"empty"}],"jobs":[]})",
                  "static+cedf", "", "paper");
  for (const char* part : {"stops", "reshapes", "starts", "keeps", "waits"})
    EXPECT_TRUE(plan[part].is_array() && plan[part].empty()) << plan;
}

TEST(Decision, EnergyOfAGpuThatNobodyMeasured) {
  std::string text = R"({"smartmig_state":1,"now_s":0,"gpus":[{"model":"a30-24gb","layout":"2g+2g"}],"jobs":[]})";
  EXPECT_TRUE(decide_json(text, "static+edf", "", "paper").is_object());
  EXPECT_TRUE(decide_json(text, "static+met", "", "paper").is_object());
  text.insert(1, R"("power":"linear:30:30:165",)");
  EXPECT_TRUE(decide_json(text, "static+met", "", "paper").is_object());
}

TEST(Decision, UnknownPolicy) {
  EXPECT_EQ(decide_json(kPartWay, "static+cefd", "", "paper").get<std::string>().substr(0, 43),
            "unknown placer 'cefd' (did you mean cedf?);");
  EXPECT_TRUE(decide_json(kPartWay, "cedf", "", "paper").is_string());
  EXPECT_TRUE(decide_json(kPartWay, "static+cedf", "3g+3g,7g", "paper").is_string()) << "two layouts for one GPU";
}

}  // namespace
}  // namespace smartmig
