#include "research/bounds/exact.h"

#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "bound/least_times.h"
#include "research/bounds/configurations.h"

namespace smartmig {
namespace {

constexpr const char* kExactName = "the exact optimum";
constexpr std::size_t kMostColumns = 400'000;

struct TinyJob {
  double release = 0, deadline = 0, fastest = 0;
  bool has_deadline = false;
};

class ExactProgram {
 public:
  enum Side { kLower, kUpper };
  ExactProgram(const std::vector<TinyJob>& jobs, const std::vector<Configuration>& configurations,
               const std::vector<double>& cuts, const ExactOptions& options, Side side)
      : jobs_(jobs),
        configurations_(configurations),
        cuts_(cuts),
        options_(options),
        side_(side),
        slots_(cuts.size() - (side == kUpper)) {
    add_minutes();
    for (std::size_t j = 0; j < jobs.size(); ++j) add_job(j);
  }
  const MipProblem& mip() const { return mip_; }

 private:
  bool endless(std::size_t s) const { return s + 1 == cuts_.size(); }
  double length(std::size_t s) const { return endless(s) ? kMipInfinity : cuts_[s + 1] - cuts_[s]; }

  void add_minutes() {
    double last_release = 0;
    for (const TinyJob& job : jobs_) last_release = std::max(last_release, job.release);
    running_.resize(slots_);
    on_.resize(slots_);
    for (std::size_t s = 0; s < slots_; ++s) {
      const bool surely_on = !endless(s) && cuts_[s + 1] <= last_release;
      on_[s] = mip_.add_column(surely_on ? length(s) : 0, length(s), 0);
      const int sum = mip_.add_row(0, 0);
      mip_.add(sum, on_[s], -1);
      for (std::size_t c = 0; c < configurations_.size(); ++c) {
        bool released = true;
        for (std::size_t j = 0; j < jobs_.size(); ++j)
          released = released && (!(configurations_[c].running >> j & 1) || jobs_[j].release <= cuts_[s]);
        if (!released) continue;
        const int column = mip_.add_column(0, kMipInfinity, options_.energy_weight * configurations_[c].watts);
        mip_.add(sum, column, 1);
        running_[s].emplace_back(c, column);
      }
    }
  }

  void add_job(std::size_t j) {
    const TinyJob& job = jobs_[j];
    if (job.fastest <= 0) return;  // done when it arrives
    const double least = job.release + job.fastest - job.deadline;
    const int tardiness = job.has_deadline ? mip_.add_column(std::max(0.0, least), kMipInfinity,
                                                             options_.tardiness_weight / double(jobs_.size()))
                                           : -1;
    const int one_end = mip_.add_row(1, 1);
    const int by_slot = tardiness >= 0 ? mip_.add_row(0, kMipInfinity) : -1;
    if (by_slot >= 0) mip_.add(by_slot, tardiness, 1);
    std::vector<int> ends(slots_, -1);
    int done_before = -1;
    for (std::size_t s = first_slot(job); s < slots_; ++s) {
      const int balance = mip_.add_row(0, 0);
      if (done_before >= 0) mip_.add(balance, done_before, 1);
      if (s + 1 < slots_) mip_.add(balance, done_before = mip_.add_column(0, 1, 0), -1);
      for (const auto& [c, column] : running_[s])
        if (configurations_[c].running >> j & 1) mip_.add(balance, column, 1 / configurations_[c].minutes[j]);
      if (!endless(s) && cuts_[s + 1] < job.release + job.fastest - 1e-9) continue;
      ends[s] = mip_.add_column(0, 1, 0, true);
      mip_.add(balance, ends[s], -1);
      mip_.add(one_end, ends[s], 1);
      const double charge = (side_ == kLower ? cuts_[s] : cuts_[s + 1]) - job.deadline;
      if (by_slot >= 0 && charge > 0) mip_.add(by_slot, ends[s], -charge);
    }
    keep_boards_on(ends);
    if (side_ == kLower && tardiness >= 0) charge_minutes(j, tardiness, ends);
  }

  std::size_t first_slot(const TinyJob& job) const {
    return std::size_t(std::lower_bound(cuts_.begin(), cuts_.end(), job.release) - cuts_.begin());
  }

  // While the job ends in a later slot (upper: this or a later one), the slot is used in full.
  void keep_boards_on(const std::vector<int>& ends) {
    for (std::size_t s = 0; s < slots_ && !endless(s); ++s) {
      const int row = mip_.add_row(0, kMipInfinity);
      mip_.add(row, on_[s], 1);
      for (std::size_t u = side_ == kLower ? s + 1 : s; u < slots_; ++u)
        if (ends[u] >= 0) mip_.add(row, ends[u], -length(s));
    }
  }

  // T >= start of the last slot + minutes of the job in it - d. In every other slot the term len * (1 - end) outweighs
  // its minutes.
  void charge_minutes(std::size_t j, int tardiness, const std::vector<int>& ends) {
    for (std::size_t s = 0; s < slots_ && !endless(s); ++s) {
      if (ends[s] < 0) continue;
      const int row = mip_.add_row(-jobs_[j].deadline - length(s), kMipInfinity);
      mip_.add(row, tardiness, 1);
      for (std::size_t u = 0; u < slots_; ++u)
        if (const double coefficient = cuts_[u] + (u == s ? length(s) : 0); ends[u] >= 0 && coefficient != 0)
          mip_.add(row, ends[u], -coefficient);
      for (const auto& [c, column] : running_[s])
        if (configurations_[c].running >> j & 1) mip_.add(row, column, -1);
    }
  }

  const std::vector<TinyJob>& jobs_;
  const std::vector<Configuration>& configurations_;
  const std::vector<double>& cuts_;
  const ExactOptions& options_;
  Side side_;
  std::size_t slots_;
  MipProblem mip_;
  std::vector<int> on_;                                            // by slot: minutes for which the boards are on
  std::vector<std::vector<std::pair<std::size_t, int>>> running_;  // by slot: configurations and their columns
};

}  // namespace

Result<ExactOptimum> exact_optimum(const Platform& platform, const JobTable& jobs, const ExactOptions& options) {
  SMARTMIG_RETURN_IF_ERROR(require_least_times(jobs));
  if (!(options.slot_min > 0) || options.energy_weight < 0 || options.tardiness_weight < 0)
    return invalid("{} needs slots longer than 0 minutes and weights of at least 0", kExactName);
  if (jobs.size() > kMostExactJobs || platform.gpus() > kMostExactGpus)
    return invalid("{} is for at most {} jobs on {} GPUs, not for {} on {}: use a bound", kExactName, kMostExactJobs,
                   kMostExactGpus, jobs.size(), platform.gpus());
  ExactOptimum result;
  std::vector<TinyJob> tiny;
  double last = 0, in_turn = 0, certain = 0;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const Job& job = jobs.job(JobId(j));
    TinyJob t{minutes(job.submit), job.deadline == kNever ? 0 : minutes(job.deadline), kMipInfinity,
              job.deadline != kNever};
    for (const Time work : jobs.work_row(JobId(j)))
      if (work >= Time{0}) t.fastest = std::min(t.fastest, minutes(work));
    last = std::max(last, t.release);
    in_turn += t.fastest;
    if (t.fastest <= 0 && t.has_deadline)
      certain += options.tardiness_weight * std::max(0.0, t.release - t.deadline) / double(jobs.size());
    tiny.push_back(t);
  }
  if (tiny.empty()) return result;
  std::vector<double> cuts{0};
  for (const TinyJob& job : tiny) cuts.push_back(job.release);
  for (double k = 1; cuts.back() < last + in_turn - 1e-9; ++k) {
    cuts.push_back(k * options.slot_min);
    if (k > double(kMostColumns))
      return invalid("{}: slots of {} min are too short for {} min of work", kExactName, options.slot_min,
                     last + in_turn);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  const std::vector<Configuration> all = configurations(platform, jobs);
  result.slots = cuts.size();
  result.configurations = all.size();
  if (cuts.size() * all.size() > kMostColumns)
    return invalid("{}: {} configurations in {} slots are too many: take fewer jobs or slots longer than {} min",
                   kExactName, all.size(), cuts.size(), options.slot_min);
  SMARTMIG_TRY(const MipAnswer lower, solve_mip(ExactProgram(tiny, all, cuts, options, ExactProgram::kLower).mip(),
                                                options.limits, kExactName));
  result.lower = certain + std::max(0.0, lower.bound - kMipTolerance * (1 + std::abs(lower.bound)));
  result.seconds = lower.seconds;
  result.upper = certain;
  if (cuts.size() > 1) {
    SMARTMIG_TRY(const MipAnswer upper, solve_mip(ExactProgram(tiny, all, cuts, options, ExactProgram::kUpper).mip(),
                                                  options.limits, kExactName));
    if (upper.values.empty())
      return timeout_error("{}: no schedule was found in {} s", kExactName, options.limits.seconds);
    result.upper += upper.incumbent + kMipTolerance * (1 + std::abs(upper.incumbent));
    result.seconds += upper.seconds;
  }
  return result;
}

}  // namespace smartmig
