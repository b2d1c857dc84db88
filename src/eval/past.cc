#include "eval/past.h"

#include <algorithm>

namespace smartmig {
namespace {

constexpr Time kDay = std::chrono::hours(24);

bool waits_with_progress(const Past::Progress& progress) { return progress.gpu == kNoGpu && progress.remaining < 1; }

// Where a waiting job's progress is replayed: the type it is slowest on has the finest share per microsecond.
Start slowest_place(const Past& past, JobId job) {
  const Platform& platform = *past.platform;
  Start best{job, kNoGpu, kNoPlacement};
  Time longest{-1};
  for (std::size_t m = 0, gpu = 0; m < platform.models().size(); ++m) {
    while (platform.model_index(GpuId(gpu)) != int(m)) ++gpu;  // models are numbered in order of their first GPU
    const auto& types = platform.models()[m].type_of_placement;
    for (std::size_t p = 0; p < types.size(); ++p)
      if (const Time work = past.jobs->work(job, types[p]); work > longest) {
        longest = work;
        best = {job, GpuId(gpu), PlacementId(p)};
      }
  }
  return best;
}

Time elapsed(const Past& past, const Start& run) {
  const Time whole = past.jobs->work(run.job, past.platform->type_of(run.gpu, run.where));
  return std::max(Time{0}, whole - rounded(past.progress[index(run.job)].remaining * double(whole.count())));
}

class Writer {
 public:
  explicit Writer(Cluster& cluster) : cluster_(cluster) {}
  void become(GpuId gpu, Layout layout) {
    const Layout before = cluster_.gpu(gpu).layout;
    cluster_.apply(Event::reshape_asked(cluster_.now(), gpu, layout));
    cluster_.apply(Event::destroyed(cluster_.now(), gpu, before - layout));
    cluster_.apply(Event::created(cluster_.now(), gpu, layout - before));
  }
  void start(Time at, const Start& run) {
    SMARTMIG_CHECK(cluster_.refusal_of_start(run) == Refusal::kNone, "{}",
                   explain(cluster_, cluster_.refusal_of_start(run), run.job, run.gpu, run.where));
    cluster_.apply(Event::started(at, run.job, run.gpu, run.where));
  }

 private:
  Cluster& cluster_;
};

}  // namespace

Result<Time> days_to_make_room(const Past& past) {
  const Time most = 10 * from_seconds(kMaxSeconds);
  Time waiting{0}, running{0};
  for (std::size_t j = 0; j < past.progress.size(); ++j) {
    const Past::Progress& progress = past.progress[j];
    if (waits_with_progress(progress))
      waiting += elapsed(past, slowest_place(past, JobId(j)));
    else if (progress.gpu != kNoGpu)
      running = std::max(running, elapsed(past, {JobId(j), progress.gpu, progress.where}));
    if (waiting + running > most)
      return invalid(
          "the progress of the jobs takes more than {} s of running: leave out 'remaining' of some, or shorten their "
          "work",
          seconds(most));
  }
  const Time short_of = std::max(Time{0}, waiting + running - past.now);
  return (short_of + kDay - Time{1}) / kDay * kDay;
}

Cluster cluster_after(const Past& past) {
  Cluster cluster(past.platform, past.jobs, past.cost, std::vector<Layout>(past.platform->gpus()));
  Writer writer(cluster);
  for (std::size_t j = 0; j < past.progress.size(); ++j) cluster.apply(Event::submitted(Time{0}, JobId(j)));
  for (std::size_t j = 0; j < past.progress.size(); ++j) {
    if (!waits_with_progress(past.progress[j])) continue;
    const Start run = slowest_place(past, JobId(j));
    writer.become(run.gpu, *past.platform->model(run.gpu).gpu->with(Layout{}, run.where));
    writer.start(cluster.now(), run);
    cluster.apply(Event::stopped(cluster.now() + elapsed(past, run), run.job));
  }
  for (std::size_t g = 0; g < past.layouts.size(); ++g) writer.become(GpuId(g), past.layouts[g]);

  std::vector<std::pair<Time, Start>> runs;
  for (std::size_t j = 0; j < past.progress.size(); ++j) {
    const Past::Progress& progress = past.progress[j];
    if (progress.gpu == kNoGpu) continue;
    const Start run{JobId(j), progress.gpu, progress.where};
    runs.emplace_back(past.now - elapsed(past, run), run);
  }
  std::stable_sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [at, run] : runs) writer.start(at, run);
  // Also sets the clock to now. A GPU that is on its way to a target is so from now on.
  for (std::size_t g = 0; g < past.targets.size(); ++g)
    cluster.apply(Event::reshape_asked(past.now, GpuId(g), past.targets[g]));
  cluster.end_decision(false);
  cluster.begin_decision();
  return cluster;
}

}  // namespace smartmig
