// A fleet at one instant for tests of placing rules: jobs that arrived, some of them running, and what a rule makes of
// it.
#pragma once
#include "policy/placing/plain_placer.h"
#include "support/fixture.h"

namespace smartmig::fixture {

struct PlacingScene {
  std::shared_ptr<const Platform> platform;
  Cluster cluster;
  UsableSlices usable;

  // All jobs arrive at their submit time, in order; the clock stands at the last.
  PlacingScene(std::string_view gpus, const std::vector<std::string>& texts, std::vector<Job> jobs, CostModel cost = {},
               std::vector<std::string> kinds = {}, std::string_view power = "paper")
      : platform(fixture::platform(gpus, power)),
        cluster(platform, fixture::bind(std::move(jobs), *platform, std::move(kinds)), cost,
                fixture::layouts(*platform, texts)) {
    cluster.begin_decision();
    for (std::size_t j = 0; j < cluster.jobs().size(); ++j)
      cluster.apply(Event::submitted(cluster.jobs().job(JobId(j)).submit, JobId(j)));
    usable.layout = fixture::layouts(*platform, texts);
    usable.version = 1;
  }
  void start(unsigned job, unsigned gpu, std::string_view where) {
    cluster.apply(Event::started(cluster.now(), JobId(job), GpuId(gpu), slice(*platform, gpu, where)));
  }
  // The rule's own choices, in its order: "2>0:3g.20gb@4" for job 2 on GPU 0; "2>-" where it finds none.
  std::vector<std::string> choices(PlacingRule& rule) const {
    const bool preemptive = cluster.cost().free();
    std::vector<JobId> jobs;
    for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job))
      if (preemptive || cluster.state(job).phase == JobPhase::kQueued) jobs.push_back(job);
    rule.order(cluster, jobs);
    PlacingState board;
    board.reset(cluster, usable, preemptive);
    std::vector<std::string> out;
    for (JobId job : jobs) {
      const Slot slot = board.free_slots() == 0 ? Slot{} : rule.choose(cluster, board, job);
      out.push_back(fmt::format("{}>{}", index(job), slot.none() ? "-" : name(*platform, slot.gpu, slot.where)));
      if (!slot.none()) board.take(job, slot);
    }
    return out;
  }
  // The plan of a placer: "stop 1" and "2>0:3g.20gb@4".
  std::vector<std::string> plan_of(Placer& placer) const {
    Plan plan;
    placer.place(cluster, usable, plan);
    std::vector<std::string> out;
    for (JobId job : plan.stops) out.push_back(fmt::format("stop {}", index(job)));
    for (const Start& s : plan.starts)
      out.push_back(fmt::format("{}>{}", index(s.job), name(*platform, s.gpu, s.where)));
    return out;
  }
};

}  // namespace smartmig::fixture
