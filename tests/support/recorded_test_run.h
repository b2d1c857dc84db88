// A small run made by hand, for the tests of reports and journals (paper costs unless told). Two A100-40GB under the
// papers' power table; four jobs:
//   job 0 "alpha" (train)    submitted  0 s, due 100 s: starts on GPU 0 4g.20gb@0 at 0 s, stopped at 40 s with 20 s left
//                            there; resumes at 40 s on GPU 1 7g.40gb@0 (30 s there in all, so 10 s left), finished at 50 s
//   job 1 "be,ta" (no kind)  submitted 10 s, due 30 s: GPU 0 3g.20gb@4 from 10 s, 60 s there: finished at 70 s, 40 s late
//   job 2 "gamma" (train)    submitted 50 s, no deadline: waits while GPU 0 loses 4g.20gb@0 and gains 1g.5gb@0 at 60 s;
//                            runs there from 60 s to 180 s
//   job 3 "delta" (infer)    submitted 60 s, due 60 s, no work at all: GPU 1 at 60 s, finished at 60 s
// Power table: 40 119 160 205.3 243.9 247.7 248.5 248.5 W for 0 to 7 busy compute slices.
#pragma once
#include <gtest/gtest.h>

#include "report/fold.h"
#include "report/journal.h"
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

// A run without events: the world that both runs below live in. `record` points into heap objects, so the whole may be
// moved.
inline TestRun empty_test_run(CostModel cost) {
  TestRun run;
  RunRecord& record = run.record;
  record.platform = std::make_shared<const Platform>(*Platform::parse("2xa100-40gb"));
  record.jobs = std::make_shared<const JobTable>(
      *JobTable::bind(std::make_shared<const Workload>(test_workload()), *record.platform));
  record.cost = cost;
  const GpuModel& model = *record.platform->models()[0].gpu;
  record.initial = {*parse_layout(model, "4g.20gb@0+3g.20gb@4"), *parse_layout(model, "7g.40gb@0")};
  record.config = {{"policy", "by hand"}, {"seed", "7"}};
  record.version = "0.0.1";
  record.wall_s = 0.5;
  return run;
}

inline TestRun with_events(TestRun run, std::vector<Event> events) {
  RunRecord& record = run.record;
  *run.events = std::move(events);
  run.final = std::make_unique<Cluster>(record.platform, record.jobs, record.cost, record.initial);
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

inline TestRun test_run(CostModel cost = {}) {
  TestRun run = empty_test_run(cost);
  const GpuModel& model = *run.record.platform->models()[0].gpu;
  const auto slice = [&](const char* name) { return find_placement(model, name); };
  std::vector<Event> events;
  const auto put = [&](const Event& event) { events.push_back(event); };
  const auto at = [](double s) { return from_seconds(s); };
  const Layout four = *model.with({}, slice("4g.20gb@0")), one = *model.with({}, slice("1g.5gb@0"));
  const Layout target = *model.with(run.record.initial[0] - four, slice("1g.5gb@0"));
  put(Event::submitted(at(0), JobId(0)));
  put(Event::started(at(0), JobId(0), GpuId(0), slice("4g.20gb@0")));
  put(Event::submitted(at(10), JobId(1)));
  put(Event::started(at(10), JobId(1), GpuId(0), slice("3g.20gb@4")));
  put(Event::stopped(at(40), JobId(0)));
  put(Event::started(at(40), JobId(0), GpuId(1), slice("7g.40gb@0")));
  if (cost.free()) put(Event::finished(at(50), JobId(0)));
  put(Event::submitted(at(50), JobId(2)));
  if (!cost.free()) put(Event::finished(at(55), JobId(0)));  // 5 s to resume
  put(Event::reshape_asked(at(60), GpuId(0), target));
  put(Event::destroyed(at(60), GpuId(0), four));
  put(Event::created(at(60), GpuId(0), one));
  put(Event::started(at(60), JobId(2), GpuId(0), slice("1g.5gb@0")));
  put(Event::submitted(at(60), JobId(3)));
  put(Event::started(at(60), JobId(3), GpuId(1), slice("7g.40gb@0")));
  put(Event::finished(at(60), JobId(3)));
  put(Event::finished(at(70), JobId(1)));
  put(Event::finished(at(180), JobId(2)));
  return with_events(std::move(run), std::move(events));
}

// What only a daemon's journal has, by the same jobs: job 0 is found running with 20 of its 60 s left and overruns, job 1
// is found waiting with a sixth left and ends on GPU 0 3g.20gb@4, job 2 is withdrawn while it runs, job 3 while it waits.
inline TestRun live_test_run() {
  TestRun run = empty_test_run({CostModel::kHardware, {}});
  const GpuModel& model = *run.record.platform->models()[0].gpu;
  const auto slice = [&](const char* name) { return find_placement(model, name); };
  const auto at = [](double s) { return from_seconds(s); };
  std::vector<Event> events = {
      Event::submitted(at(0), JobId(0)),
      Event::found_running(at(0), JobId(0), GpuId(0), slice("4g.20gb@0"), at(20)),
      Event::submitted(at(10), JobId(1)),
      Event::found_waiting(at(10), JobId(1), GpuId(0), slice("1g.5gb@0"), at(30)),
      Event::blocked(at(10), GpuId(1)),
      Event::unblocked(at(15), GpuId(1)),
      Event::overrun(at(21), JobId(0)),
      Event::submitted(at(50), JobId(2)),
      Event::started(at(50), JobId(2), GpuId(1), slice("7g.40gb@0")),
      Event::withdrawn(at(55), JobId(2)),
      Event::submitted(at(60), JobId(3)),
      Event::withdrawn(at(60), JobId(3)),
      Event::finished(at(61), JobId(0)),
      Event::started(at(62), JobId(1), GpuId(0), slice("3g.20gb@4")),
      Event::finished(at(77), JobId(1)),
  };
  return with_events(std::move(run), std::move(events));
}

}  // namespace smartmig
