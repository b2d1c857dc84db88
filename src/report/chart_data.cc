#include "report/chart_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "base/json.h"
#include "report/html_page.h"
#include "report/name_colours.h"

namespace smartmig {
namespace {

struct Slot {  // an instance and the time for which it existed
  std::size_t gpu;
  int start, length;
  Time begin, end;
};

std::vector<Slot> slots_of(const RunRecord& run, const Timeline& line, std::size_t gpus) {
  std::vector<Slot> out;
  std::vector<std::vector<Time>> since(gpus, std::vector<Time>(32, Time{0}));
  std::vector<Layout> layout(run.initial.begin(), run.initial.begin() + std::ptrdiff_t(gpus));
  const auto close = [&](std::size_t g, PlacementId p, Time at) {
    const GpuModel& model = *run.platform->model(GpuId(g)).gpu;
    if (since[g][index(p)] < at)
      out.push_back({g, model.placement(p).start, model.profile_of(p).memory_slices, since[g][index(p)], at});
  };
  for (const LayoutStep& step : line.layouts) {
    const std::size_t g = index(step.gpu);
    if (g >= gpus || step.kind == EventKind::kReshapeAsked) continue;
    for (PlacementId p : layout[g] - step.layout) close(g, p, step.at);
    for (PlacementId p : step.layout - layout[g]) since[g][index(p)] = step.at;
    layout[g] = step.layout;
  }
  for (std::size_t g = 0; g < gpus; ++g)
    for (PlacementId p : layout[g]) close(g, p, line.end);
  return out;
}

struct Means {
  double watts = 0, queued = 0;
};

struct Binned {
  std::int64_t width = 1;  // microseconds per interval; the last may be shorter
  std::vector<Means> bins;
};

// Time-weighted means over at most `most` equal intervals of the run.
Binned binned(const Timeline& line, std::size_t most) {
  Binned out;
  const std::int64_t end = line.end.count();
  out.width = std::max<std::int64_t>(1, (end + std::int64_t(most) - 1) / std::int64_t(most));
  out.bins.resize(std::size_t(std::max<std::int64_t>(1, (end + out.width - 1) / out.width)));
  for (std::size_t i = 0; i < line.fleet.size(); ++i) {
    const FleetStep& step = line.fleet[i];
    const std::int64_t until = (i + 1 < line.fleet.size() ? line.fleet[i + 1].at : line.end).count();
    for (std::int64_t at = step.at.count(); at < until;) {
      const std::int64_t begin = at / out.width * out.width, bin_end = std::min(end, begin + out.width),
                         to = std::min(until, bin_end);
      const double share = double(to - at) / double(bin_end - begin);
      Means& bin = out.bins[std::size_t(at / out.width)];
      bin.watts += step.watts * share;
      bin.queued += step.queued * share;
      at = to;
    }
  }
  return out;
}

}  // namespace

KindTable kind_table(const RunRecord& run) {
  const Workload& workload = run.jobs->workload();
  std::vector<KindShare> all(workload.kinds.size() + 1);
  for (std::size_t k = 0; k < all.size(); ++k)
    all[k].name = k == 0 ? (workload.kinds.empty() ? "jobs" : "no kind") : workload.kinds[k - 1];
  for (std::size_t j = 0; j < run.jobs->size(); ++j) {
    KindShare& share = all[std::size_t(run.jobs->job(JobId(j)).kind + 1)];
    share.joules += run.final->attributed_joules(JobId(j));
    ++share.jobs;
  }
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return all[a].joules > all[b].joules; });
  std::vector<std::string> names;
  KindTable table;
  table.share_of_kind.assign(all.size(), 0);
  for (const std::size_t k : order) {
    if (all[k].jobs == 0) continue;
    table.share_of_kind[k] = int(table.shares.size());
    names.push_back(all[k].name);
    table.shares.push_back(all[k]);
  }
  const std::vector<int> colours = colours_of(names);
  for (std::size_t i = 0; i < colours.size(); ++i) table.shares[i].colour = colours[i];
  return table;
}

std::vector<std::pair<double, double>> power_curve(const Timeline& line, std::size_t most) {
  std::vector<std::pair<double, double>> out;
  if (line.fleet.size() <= most) {
    for (const FleetStep& step : line.fleet) out.emplace_back(seconds(step.at), step.watts);
    return out;
  }
  const Binned means = binned(line, most);
  for (std::size_t i = 0; i < means.bins.size(); ++i)
    out.emplace_back(seconds(Time(std::int64_t(i) * means.width)), means.bins[i].watts);
  return out;
}

ChartData chart_data(const RunRecord& run, const Timeline& line, const KindTable& kinds) {
  const std::int64_t tick = std::max<std::int64_t>(1, line.end.count() / 2'000'000);
  const auto ticks = [&](Time t) { return t.count() / tick; };
  ChartData data;
  std::vector<std::size_t> runs_of(run.platform->gpus());
  for (const JobRun& r : line.runs) ++runs_of[index(r.gpu)];
  for (std::size_t total = 0; data.gpus_drawn < runs_of.size() && data.gpus_drawn < kMaxJournalGpus; ++data.gpus_drawn)
    if ((total += runs_of[data.gpus_drawn]) > kMaxChartRuns) break;

  fmt::memory_buffer out;
  const auto put = [&]<class... Args>(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
  };
  const auto list = [&](const char* name, std::size_t count, auto value) {
    put(",\"{}\":[", name);
    for (std::size_t i = 0; i < count; ++i) put("{}{}", i ? "," : "", value(i));
    put("]");
  };
  put("{{\"tick\":{},\"end\":{},\"idle\":{:.1f}", double(tick) / 1e6, ticks(line.end), line.idle_watts);
  list("gpus", data.gpus_drawn, [&](std::size_t g) {
    const GpuModel& model = *run.platform->model(GpuId(g)).gpu;
    return fmt::format("[{},{}]", json_text(model.name()), model.memory_slices());
  });
  list("kinds", kinds.shares.size(),
       [&](std::size_t k) { return fmt::format("[{},{}]", json_text(kinds.shares[k].name), kinds.shares[k].colour); });

  // The drawn stays and their jobs, numbered by first appearance.
  std::vector<const JobRun*> runs;
  std::vector<std::int64_t> number(run.jobs->size(), -1);
  std::vector<JobId> jobs;
  for (const JobRun& r : line.runs) {
    if (index(r.gpu) >= data.gpus_drawn) continue;
    runs.push_back(&r);
    if (number[index(r.job)] >= 0) continue;
    number[index(r.job)] = std::int64_t(jobs.size());
    jobs.push_back(r.job);
  }
  const Workload& workload = run.jobs->workload();
  const auto job = [&](std::size_t i) -> const Job& { return run.jobs->job(jobs[i]); };
  const auto state = [&](std::size_t i) -> const JobState& { return run.final->state(jobs[i]); };
  list("jn", jobs.size(), [&](std::size_t i) {
    return workload.names.empty() ? fmt::format("{}", index(jobs[i])) : json_text(workload.names[index(jobs[i])]);
  });
  list("jk", jobs.size(), [&](std::size_t i) { return kinds.share_of_kind[std::size_t(job(i).kind + 1)]; });
  list("js", jobs.size(), [&](std::size_t i) { return ticks(job(i).submit); });
  list("jd", jobs.size(), [&](std::size_t i) {
    return job(i).deadline == kNever ? std::string("null") : fmt::format("{}", ticks(job(i).deadline));
  });
  list("jf", jobs.size(), [&](std::size_t i) {
    return state(i).phase == JobPhase::kDone ? fmt::format("{}", ticks(state(i).finish)) : std::string("null");
  });
  list("je", jobs.size(), [&](std::size_t i) { return fmt::format("{:.0f}", run.final->attributed_joules(jobs[i])); });

  std::vector<std::string> profiles;
  list("r", runs.size(), [&](std::size_t i) {
    const JobRun& r = *runs[i];
    const GpuModel& model = *run.platform->model(r.gpu).gpu;
    const std::string& name = model.profile_of(r.where).name;
    auto found = std::find(profiles.begin(), profiles.end(), name);
    if (found == profiles.end()) found = profiles.insert(profiles.end(), name);
    return fmt::format("{},{},{},{},{},{},{}", number[index(r.job)], index(r.gpu), model.placement(r.where).start,
                       model.profile_of(r.where).memory_slices, found - profiles.begin(), ticks(r.begin),
                       ticks(r.end) - ticks(r.begin));
  });
  list("p", profiles.size(), [&](std::size_t i) { return json_text(profiles[i]); });
  std::vector<Slot> slots = slots_of(run, line, data.gpus_drawn);
  if (slots.size() > kMaxChartRuns) slots.clear();  // free instances are only the background
  list("s", slots.size(), [&](std::size_t i) {
    const Slot& s = slots[i];
    return fmt::format("{},{},{},{},{}", s.gpu, s.start, s.length, ticks(s.begin), ticks(s.end) - ticks(s.begin));
  });

  if (line.fleet.size() <= kMaxSteps) {
    list("t", line.fleet.size(), [&](std::size_t i) { return ticks(line.fleet[i].at); });
    list("w", line.fleet.size(), [&](std::size_t i) { return fmt::format("{:.1f}", line.fleet[i].watts); });
    list("q", line.fleet.size(), [&](std::size_t i) { return line.fleet[i].queued; });
  } else {
    const Binned means = binned(line, kMaxSteps);
    list("t", means.bins.size(), [&](std::size_t i) { return ticks(Time(std::int64_t(i) * means.width)); });
    list("w", means.bins.size(), [&](std::size_t i) { return fmt::format("{:.1f}", means.bins[i].watts); });
    list("q", means.bins.size(), [&](std::size_t i) { return fmt::format("{:.2f}", means.bins[i].queued); });
  }
  put("}}");
  data.json = fmt::to_string(out);
  return data;
}

}  // namespace smartmig
