// The solver's schedule: which windows, which prices, how many steps.
#include <algorithm>
#include <cmath>

#include "bound/lagrangian.h"

namespace smartmig {
namespace {

constexpr std::size_t kSampledJobs = 10'000;  // prices are sought on a sample of about this many jobs
constexpr std::int64_t kCoarseWindows = 256;
constexpr std::int64_t kFinestWindows =
    8192;  // at most, if the whole horizon were cut that fine; two per job are enough
constexpr double kPiecesPerEffort = 3e8;
constexpr double kOwnCompanySlices = 7;  // if more slices are busy on average, jobs have company in any schedule
constexpr std::size_t kFewJobs = 64;
constexpr double kOwnTimes = 3;
constexpr std::size_t kOwnWindows = 24;
constexpr std::size_t kEndPrices = 32;

class Solver {
 public:
  Solver(const BoundProblem& whole, const SolveOptions& options) : whole_(whole), options_(options) {}

  SolvedBound run() {
    prices_.values = whole_.tail;
    if (whole_.windows_matter()) {
      search();
      if (prices_.own.empty()) trim();
    } else if (whole_.jobs.size() <= 2 * kSampledJobs) {
      add_end_prices();
      if (!prices_.ends.empty()) step(200, true, 1, 0.003, 1);
    }
    out_.value = lagrangian_value(whole_, prices_) / whole_.weights.divide_by;
    out_.prices = std::move(prices_);
    return std::move(out_);
  }

 private:
  const BoundProblem& problem() const { return sample_.jobs.empty() ? whole_ : sample_; }

  void search() {
    const std::int64_t span = std::max<std::int64_t>(1024, (whole_.horizon - whole_.first_release).count());
    const std::int64_t jobs = std::int64_t(whole_.jobs.size()),
                       coarse = std::clamp<std::int64_t>(4 * jobs, 32, kCoarseWindows);
    std::int64_t width = (span + coarse - 1) / coarse;
    prices_.windows = Windows::uniform(whole_.first_release, Time(width), whole_.first_release + Time(span));
    prices_.values.clear();
    for (std::size_t w = 0; w <= prices_.windows.count(); ++w)
      prices_.values.insert(prices_.values.end(), whole_.tail.begin(), whole_.tail.end());
    if (whole_.jobs.size() > 2 * kSampledJobs) return search_by_samples();
    step(250, false, 4, 0.001, 0.1);
    const std::int64_t finest = std::max<std::int64_t>(1, span / std::clamp(2 * jobs, kCoarseWindows, kFinestWindows));
    for (int level = 0; width > finest && width > 1; ++level) {
      refine(level >= 2);
      width /= 2;
      const bool last = width <= finest, types = width <= 4 * finest;
      if (last) cut_at_jobs(std::max<std::int64_t>(1, finest / 16));
      if (!types || width > 2 * finest) step(100, false, 0.5, 0.001, 0.1);
      if (types && (last || width > 2 * finest)) step(last ? 300 : 100, true, 0.3, 0.01, last ? 0.4 : 0.1);
    }
    if (whole_.mean_slices < kOwnCompanySlices || whole_.jobs.size() <= kFewJobs) {
      add_own_prices();
      add_end_prices();
      step(400, true, 1, 0.003, 0.6);
    }
  }

  // For many jobs: a sample finds the course of the day, then the whole corrects the sample's noise.
  void search_by_samples() {
    double rate = 4;
    for (std::size_t jobs = kSampledJobs; 2 * jobs < whole_.jobs.size(); jobs *= 8, rate = 0.5) {
      sample_ = whole_.sample(whole_.jobs.size() / jobs);
      step(rate > 1 ? 250 : 80, false, rate, rate > 1 ? 0.001 : 0.01, 0.15);
    }
    sample_ = BoundProblem{};
    trim();
    step(40, false, 0.3, 0.03, 0.2);
    refine(false);
    step(60, true, 0.1, 0.03, 0.5);
  }

  void step(int iterations, bool per_type, double rate, double decay, double share) {
    Supergradient probe;
    lagrangian_value(problem(), prices_, &probe);
    const double affordable = options_.effort * kPiecesPerEffort *
                              std::max(1.0, double(whole_.jobs.size()) / kSampledJobs) * share /
                              std::max(1.0, double(probe.pieces));
    AscentOptions ascent;
    ascent.iterations = std::max(4, int(std::min(double(iterations) * options_.effort, affordable)));
    ascent.per_type = per_type;
    ascent.rate = rate;
    ascent.decay = decay;
    int evaluations = 0;
    ascent.progress = [&](double value) {
      ++evaluations;
      if (options_.progress)
        options_.progress(std::min(1.0, done_ + share * evaluations / (ascent.iterations + 1)),
                          value / problem().weights.divide_by);
    };
    ascend(problem(), prices_, ascent);
    done_ += share;
    out_.evaluations += evaluations + 1;
  }

  // Halves the windows; at finer levels only those where a price, here or in a neighbouring window, is above the floor.
  void refine(bool only_busy) {
    const std::size_t classes = whole_.classes.size(), count = prices_.windows.count();
    std::vector<bool> busy(count), split(count, true);
    for (std::size_t w = 0; w < count; ++w)
      for (std::size_t k = 0; k < classes; ++k)
        busy[w] = busy[w] || prices_.values[w * classes + k] > 1.05 * whole_.tail[k] + 1e-9;
    for (std::size_t w = 0; w < count && only_busy; ++w)
      split[w] = busy[w] || (w > 0 && busy[w - 1]) || (w + 1 < count && busy[w + 1]);
    std::vector<std::size_t> parent;
    Prices fine;
    fine.windows = halve(prices_.windows, split, parent);
    for (const std::size_t w : parent)
      fine.values.insert(fine.values.end(), prices_.values.begin() + std::ptrdiff_t(w * classes),
                         prices_.values.begin() + std::ptrdiff_t((w + 1) * classes));
    fine.values.insert(fine.values.end(), whole_.tail.begin(), whole_.tail.end());
    prices_ = std::move(fine);
  }

  // Cuts windows at releases and deadlines, where the jobs' demand changes, but not closer than `gap` to another edge.
  void cut_at_jobs(std::int64_t gap) {
    const std::size_t classes = whole_.classes.size();
    std::vector<std::int64_t> cuts;
    for (const BoundProblem::Job& job : whole_.jobs) {
      cuts.push_back(std::llround(job.release * 60e6));
      if (job.deadline < BoundProblem::kNoDeadline) cuts.push_back(std::llround(job.deadline * 60e6));
    }
    std::sort(cuts.begin(), cuts.end());
    Prices fine;
    auto next = cuts.begin();
    for (std::size_t w = 0; w < prices_.windows.count(); ++w) {
      const auto add = [&](std::int64_t edge) {
        fine.windows.edges.push_back(edge);
        fine.values.insert(fine.values.end(), prices_.values.begin() + std::ptrdiff_t(w * classes),
                           prices_.values.begin() + std::ptrdiff_t((w + 1) * classes));
      };
      const std::int64_t end = prices_.windows.edges[w + 1];
      for (; next != cuts.end() && *next < end; ++next)
        if (*next >= fine.windows.edges.back() + gap && *next + gap <= end) add(*next);
      add(end);
    }
    fine.values.insert(fine.values.end(), whole_.tail.begin(), whole_.tail.end());
    prices_ = std::move(fine);
  }

  // Gives end prices to the jobs that cannot end before the others.
  void add_end_prices() {
    if (whole_.idle_rate <= 0) return;
    std::vector<std::pair<double, std::uint32_t>> last;
    for (std::size_t j = 0; j < whole_.jobs.size(); ++j) {
      const BoundProblem::Job& job = whole_.jobs[j];
      if (job.options > 0) last.emplace_back(-(job.release + fastest(job)), std::uint32_t(j));
    }
    std::sort(last.begin(), last.end());
    last.resize(std::min(last.size(), kEndPrices));
    for (const auto& [end, job] : last) prices_.ends.push_back({job, 0});
    std::sort(prices_.ends.begin(), prices_.ends.end(),
              [](const EndPrice& x, const EndPrice& y) { return x.job < y.job; });
  }

  double fastest(const BoundProblem::Job& job) const {
    double least = BoundProblem::kNoDeadline;
    for (std::uint32_t o = job.first; o < job.first + job.options; ++o) least = std::min(least, whole_.options[o].work);
    return least;
  }

  // Gives each job own prices from its release on, for a few times its shortest run.
  void add_own_prices() {
    trim();
    const Windows& windows = prices_.windows;
    for (std::size_t j = 0; j < whole_.jobs.size(); ++j) {
      const BoundProblem::Job& job = whole_.jobs[j];
      if (job.options == 0) continue;
      const std::size_t first = windows.find(from_minutes(job.release));
      const double until = job.release + kOwnTimes * fastest(job);
      std::size_t end = first;
      while (end < windows.count() && windows.start_min(end) < until && end < first + kOwnWindows) ++end;
      if (end == first) continue;
      prices_.own.spans.push_back(
          {std::uint32_t(j), std::uint32_t(first), std::uint32_t(end - first), prices_.own.values.size()});
      prices_.own.values.resize(prices_.own.values.size() + end - first);
    }
  }

  // Merges final windows that price nothing above the tail into the tail.
  void trim() {
    const std::size_t classes = whole_.classes.size();
    Windows& windows = prices_.windows;
    while (windows.count() > 0) {
      bool plain = true;
      for (std::size_t k = 0; k < classes; ++k)
        plain = plain && prices_.values[(windows.count() - 1) * classes + k] <= 1.001 * whole_.tail[k];
      if (!plain) break;
      windows.edges.pop_back();
      prices_.values.resize((windows.count() + 1) * classes);
    }
    std::copy(whole_.tail.begin(), whole_.tail.end(), prices_.values.end() - std::ptrdiff_t(classes));
  }

  const BoundProblem& whole_;
  const SolveOptions& options_;
  BoundProblem sample_;
  Prices prices_;
  SolvedBound out_;
  double done_ = 0;
};

}  // namespace

SolvedBound solve_lagrangian(const BoundProblem& problem, const SolveOptions& options) {
  return Solver(problem, options).run();
}

}  // namespace smartmig
