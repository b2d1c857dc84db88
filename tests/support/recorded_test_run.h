// A small run made by hand, for the tests of this folder (paper costs unless told). Two A100-40GB under the papers'
// power table; four jobs:
//   job 0 "alpha" (train)  submitted 0 s, due 100 s: starts on GPU 0 4g.20gb@0 at 0 s, stopped at 40 s with 20 s left
//   there,
//                          resumes at 40 s on GPU 1 7g.40gb@0 (30 s there in all, so 10 s left), finished at 50 s
//   job 1 "be,ta" (no kind) submitted 10 s, due 30 s: GPU 0 3g.20gb@4 from 10 s, 60 s there: finished at 70 s, 40 s
//   late job 2 "gamma" (train)  submitted 50 s, no deadline: waits while GPU 0 loses 4g.20gb@0 and gains 1g.5gb@0 at 60
//   s; runs
//                          there from 60 s to 180 s
//   job 3 "delta" (infer)  submitted 60 s, due 60 s, no work at all: GPU 1 at 60 s, finished at 60 s
// Power table: 40 119 160 205.3 243.9 247.7 248.5 248.5 W for 0 to 7 busy compute slices.
#pragma once
#include <gtest/gtest.h>

#include "report/fold.h"
#include "report/journal.h"
#include "report/journal_names.h"
#include "report/timeline.h"

namespace smartmig {

struct TestRun {
  std::unique_ptr<std::vector<Event>> events = std::make_unique<std::vector<Event>>();
  std::unique_ptr<Cluster> final;
  RunRecord record;
};

inline Workload test_workload() {
  const auto s = [](double value) { return from_seconds(value); };
  const auto job = [&](double submit, Time deadline, int kind, std::vector<double> work) {
    Job out;
    out.submit = s(submit);
    out.deadline = deadline;
    out.kind = kind;
    for (std::size_t k = 0; k < work.size(); ++k)
      if (work[k] >= 0) out.work[k] = s(work[k]);
    out.restart = s(5);
    return out;
  };
  Workload workload;
  workload.source = "by hand, for tests";
  workload.kinds = {"train", "infer"};
  workload.rules = {"made by hand"};
  workload.names = {"alpha", "be,ta", "gamma", "delta"};
  workload.jobs = {job(0, s(100), 0, {240, 120, 80, 60, -1, -1, 30}), job(10, s(30), -1, {180, 90, 60, 45, -1, -1, 26}),
                   job(50, kNever, 0, {120, 60, 40, 30, -1, -1, 20}), job(60, s(60), 1, {0, 0, 0, 0, -1, -1, 0})};
  workload.jobs[3].mem_mib = 1000;
  return workload;
}

inline TestRun test_run(CostModel cost = {}) {
  TestRun run;  // `record` points into the heap objects, so the whole may be moved
  RunRecord& record = run.record;
  record.platform = std::make_shared<const Platform>(*Platform::parse("2xa100-40gb"));
  record.jobs = std::make_shared<const JobTable>(
      *JobTable::bind(std::make_shared<const Workload>(test_workload()), *record.platform));
  record.cost = cost;
  const GpuModel& model = *record.platform->models()[0].gpu;
  const Layout first = *parse_layout(model, "4g.20gb@0+3g.20gb@4"), second = *parse_layout(model, "7g.40gb@0");
  record.initial = {first, second};
  record.config = {{"policy", "by hand"}, {"seed", "7"}};
  record.version = "0.0.1";
  record.wall_s = 0.5;
  const auto slice = [&](const char* name) { return find_placement(model, name); };
  const auto put = [&](double at, EventKind kind, int job, int gpu = -1, PlacementId where = kNoPlacement,
                       Layout layout = {}) {
    run.events->push_back(
        {from_seconds(at), kind, where, job < 0 ? kNoJob : JobId(job), gpu < 0 ? kNoGpu : GpuId(gpu), layout});
  };
  const Layout four = *model.with({}, slice("4g.20gb@0")), one = *model.with({}, slice("1g.5gb@0"));
  const Layout target = *model.with(first - four, slice("1g.5gb@0"));
  put(0, EventKind::kSubmitted, 0);
  put(0, EventKind::kStarted, 0, 0, slice("4g.20gb@0"));
  put(10, EventKind::kSubmitted, 1);
  put(10, EventKind::kStarted, 1, 0, slice("3g.20gb@4"));
  put(40, EventKind::kStopped, 0);
  put(40, EventKind::kStarted, 0, 1, slice("7g.40gb@0"));
  if (cost.free()) put(50, EventKind::kFinished, 0);
  put(50, EventKind::kSubmitted, 2);
  if (!cost.free()) put(55, EventKind::kFinished, 0);  // 5 s to resume
  put(60, EventKind::kReshapeAsked, -1, 0, kNoPlacement, target);
  put(60, EventKind::kDestroyed, -1, 0, kNoPlacement, four);
  put(60, EventKind::kCreated, -1, 0, kNoPlacement, one);
  put(60, EventKind::kStarted, 2, 0, slice("1g.5gb@0"));
  put(60, EventKind::kSubmitted, 3);
  put(60, EventKind::kStarted, 3, 1, slice("7g.40gb@0"));
  put(60, EventKind::kFinished, 3);
  put(70, EventKind::kFinished, 1);
  put(180, EventKind::kFinished, 2);
  run.final = std::make_unique<Cluster>(record.platform, record.jobs, cost, record.initial);
  for (const Event& event : *run.events) {
    EXPECT_EQ(objection_to(*run.final, event), "") << name_of(event.kind) << " at " << seconds(event.at);
    fold(*run.final, event);
  }
  run.final->end_decision(false);
  record.summary = summarize(*run.final, 2e-7, 1);
  record.final = run.final.get();
  record.events = run.events.get();
  return run;
}

}  // namespace smartmig
