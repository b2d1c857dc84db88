#include "research/learn/rollout.h"

#include <algorithm>
#include <chrono>

#include "base/math.h"
#include "base/rng.h"

namespace smartmig {
namespace {

class Stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double s = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return s;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace

Rollout::Rollout(std::size_t envs_, std::size_t steps_, std::size_t inputs_, std::size_t layouts_, std::size_t k_)
    : envs(envs_),
      steps(steps_),
      inputs(inputs_),
      layouts(layouts_),
      k(k_),
      x(size() * inputs),
      columns(size() * layouts * k),
      counts(columns.size()),
      log_probability(columns.size()),
      reward(size()),
      bootstrap(size()),
      value(size()),
      advantage(size()),
      target(size()),
      ends(size()),
      last_value(envs) {}

Collector::Collector(std::shared_ptr<const EnvSetup> setup, const NetworkSize& size, int top_k, std::size_t envs,
                     std::uint64_t seed, WorkerPool& pool)
    : setup_(std::move(setup)), seed_(seed), pool_(pool), calls_(envs) {
  for (std::size_t e = 0; e < envs; ++e) envs_.emplace_back(setup_);
  for (int t = 0; t < pool.threads(); ++t)
    desks_.push_back(std::make_unique<Desk>(Desk{BatchNet(size, kGroup),
                                                 std::vector<float>(kGroup * std::size_t(size.inputs + size.foresight)),
                                                 RowSampler(std::size_t(size.layouts), top_k, Sampling::kSample),
                                                 std::vector<std::uint8_t>(setup_->platform->gpus()),
                                                 {}}));
}

Result<Ok> Collector::begin() {
  std::vector<std::optional<Error>> errors(envs_.size());
  pool_.run(envs_.size(), [&](std::size_t e, int) {
    const auto begun = [&]() -> Result<Ok> {
      SMARTMIG_RETURN_IF_ERROR(envs_[e].begin(e));
      const auto& jobs = envs_[e].cluster().jobs().workload().jobs;
      const Time first = jobs.front().submit, span = jobs.back().submit - first;
      // The stride is coprime to most sizes, so the environments of a group also start at different hours.
      const std::int64_t turn = std::int64_t(e * 7 % envs_.size()), turns = std::int64_t(envs_.size());
      if (turn == 0) return Ok{};
      return envs_[e].begin(e, first + span * 9 / 10 * turn / turns);
    }();
    if (!begun) errors[e] = begun.error();
    calls_[e] = 0;
  });
  for (const auto& error : errors)
    if (error) return *error;
  return Ok{};
}

Result<Ok> Collector::replay(std::size_t e, std::uint64_t number, Time skip, std::span<const std::uint8_t> actions) {
  const std::size_t gpus = setup_->platform->gpus();
  SMARTMIG_RETURN_IF_ERROR(envs_[e].begin(number, skip));
  if (actions.size() % gpus != 0) return invalid("the actions of environment {} are cut off", e);
  calls_[e] = actions.size() / gpus;
  for (std::size_t i = 0; i < actions.size(); i += gpus) {
    const auto next = actions.subspan(i, gpus);
    for (const std::uint8_t layout : next)
      if (layout >= setup_->shapes.size()) return invalid("environment {} took a layout that does not exist", e);
    if (envs_[e].over()) return invalid("environment {} acted after the end of its day", e);
    envs_[e].act(next);
  }
  if (envs_[e].over()) return invalid("environment {} stands at the end of its day", e);
  return Ok{};
}

Result<RolloutSums> Collector::collect(const Network& network, double gamma, Rollout& out, RunningStats& seen) {
  const std::size_t groups = (envs_.size() + kGroup - 1) / kGroup;
  std::vector<RunningStats> stats(groups, RunningStats(seen.width()));
  std::vector<RolloutSums> sums(groups);
  std::vector<std::optional<Error>> errors(groups);
  pool_.run(groups, [&](std::size_t g, int thread) {
    const std::size_t first = g * kGroup, n = std::min(kGroup, envs_.size() - first);
    const auto done = collect_group(first, n, network, gamma, *desks_[std::size_t(thread)], out, stats[g], sums[g]);
    if (!done) errors[g] = done.error();
  });
  RolloutSums total;
  for (std::size_t g = 0; g < groups; ++g) {
    if (errors[g]) return *errors[g];
    seen.merge(stats[g]);
    total.simulation_s += sums[g].simulation_s;
    total.inference_s += sums[g].inference_s;
    total.jobs += sums[g].jobs;
    total.days += sums[g].days;
    total.day_return += sums[g].day_return;
    total.whole_days += sums[g].whole_days;
    total.day_calls += sums[g].day_calls;
  }
  return total;
}

Result<Ok> Collector::collect_group(std::size_t first, std::size_t n, const Network& network, double gamma, Desk& desk,
                                    Rollout& out, RunningStats& seen, RolloutSums& sums) {
  const std::size_t inputs = out.inputs, cells = out.layouts * out.k;
  std::uint64_t jobs_before = 0, jobs_after = 0;
  for (std::size_t e = first; e < first + n; ++e) jobs_before += envs_[e].cluster().counters().arrivals;
  Stopwatch watch;
  for (std::size_t t = 0; t <= out.steps; ++t) {
    const bool last = t == out.steps;
    for (std::size_t i = 0; i < n; ++i) {
      const auto raw = envs_[first + i].raw();
      float* x = desk.x.data() + i * inputs;
      network.normalise(raw, {x, inputs});
      if (last) continue;
      seen.add(raw);
      std::copy_n(x, inputs, out.x.data() + ((first + i) * out.steps + t) * inputs);
    }
    desk.net.forward(network, desk.x.data(), n, last ? BatchNet::kCritic : BatchNet::kBoth);
    if (last) {
      for (std::size_t i = 0; i < n; ++i) out.last_value[first + i] = desk.net.value(i);
      break;
    }
    sums.inference_s += watch.lap();
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t e = first + i, at = e * out.steps + t;
      Env& env = envs_[e];
      const Observer& observer = env.observer();
      out.value[at] = desk.net.value(i);
      desk.sampler.draw(desk.net.logits(i), observer.layout_of(), observer.counts(), observer.gpus(),
                        mix64(mix64(seed_, e), env.number()), env.decision(), desk.next);
      std::uint8_t* columns = out.columns.data() + at * cells;
      std::uint16_t* counts = out.counts.data() + at * cells;
      float* log_p = out.log_probability.data() + at * cells;
      std::fill_n(counts, cells, std::uint16_t(0));
      std::fill_n(columns, cells, std::uint8_t(0));
      for (std::size_t g = 0; g < desk.next.size(); ++g) {
        const std::size_t row = observer.layout_of()[g];
        const auto kept = desk.sampler.columns(row);
        const auto j = std::size_t(std::find(kept.begin(), kept.end(), desk.next[g]) - kept.begin());
        if (counts[row * out.k + j]++ == 0)
          log_p[row * out.k + j] =
              float(deterministic_log(std::max(1e-30, double(desk.sampler.probabilities(row)[j]))));
        std::copy(kept.begin(), kept.end(), columns + row * out.k);
      }
      const EnvStep step = env.act(desk.next);
      ++calls_[e];
      out.reward[at] = float(step.reward);
      out.ends[at] = env.over();
      out.bootstrap[at] = 0;
      if (!env.over()) continue;
      if (step.truncated) {
        std::vector<float> x(inputs);
        network.normalise(env.raw(), x);
        out.bootstrap[at] = float(gamma * double(network.value(x, desk.scratch)));
      }
      ++sums.days;
      if (env.skipped() == Time{0}) {
        ++sums.whole_days;
        sums.day_return += env.day_return();
        sums.day_calls += calls_[e];
      }
      jobs_after += env.cluster().counters().arrivals;
      SMARTMIG_RETURN_IF_ERROR(env.begin(env.number() + envs_.size()));
      jobs_before += env.cluster().counters().arrivals;
      calls_[e] = 0;
    }
    sums.simulation_s += watch.lap();
  }
  for (std::size_t e = first; e < first + n; ++e) jobs_after += envs_[e].cluster().counters().arrivals;
  sums.jobs = jobs_after - jobs_before;
  return Ok{};
}

}  // namespace smartmig
