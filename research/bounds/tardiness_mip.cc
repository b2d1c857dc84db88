#include "research/bounds/tardiness_mip.h"

#include <algorithm>
#include <cmath>

#include "bound/least_times.h"
#include "research/bounds/late_jobs.h"
#include "research/bounds/linearised.h"
#include "research/bounds/tardiness_runs.h"
#include "research/bounds/tardiness_search.h"

namespace smartmig {
namespace {

constexpr int kPhases = 16;   // number of thetas in tardiness_mip.h: more is tighter and slower
constexpr int kTangents = 4;  // of f

struct Slots {
  std::vector<double> cuts;  // slot s is [cuts[s], cuts[s + 1]); the endless slot begins at the last cut
  std::size_t count() const { return cuts.size(); }
  bool endless(std::size_t s) const { return s + 1 == cuts.size(); }
  double length(std::size_t s) const { return cuts[s + 1] - cuts[s]; }
};

// An unfinished job waits only while every machine is busy, and otherwise runs at least at its slowest speed. While all
// are busy, the sum over jobs of (share left) * slowest falls at least at `rate`.
double safe_horizon(const std::vector<LateJob>& jobs, const std::vector<Machines>& machines) {
  double rate = 0, total = 0, longest = 0, last = 0;
  for (std::size_t c = 0; c < machines.size(); ++c) {
    double least = kMipInfinity;
    for (const LateJob& job : jobs) least = std::min(least, job.speeds[c] * job.slowest);
    rate += machines[c].count * least;
  }
  for (const LateJob& job : jobs) {
    total += job.slowest;
    longest = std::max(longest, job.slowest);
    last = std::max(last, job.release);
  }
  return last + total / rate + longest;
}

Slots make_slots(const std::vector<LateJob>& jobs, double width, double horizon) {
  Slots slots;
  for (const LateJob& job : jobs) slots.cuts.push_back(job.release);
  for (double k = 1; slots.cuts.back() < horizon; ++k) slots.cuts.push_back(jobs.front().release + k * width);
  std::sort(slots.cuts.begin(), slots.cuts.end());
  slots.cuts.erase(std::unique(slots.cuts.begin(), slots.cuts.end()), slots.cuts.end());
  return slots;
}

class TardinessProgram {
 public:
  TardinessProgram(const Slots& slots, const std::vector<Machines>& machines) : slots_(slots), machines_(machines) {
    for (std::size_t s = 0; s + 1 < slots.count(); ++s)
      for (const Machines& m : machines) capacity_.push_back(mip_.add_row(-kMipInfinity, m.count * slots.length(s)));
  }

  void add(const LateJob& job) {
    const int tardiness = mip_.add_column(0, kMipInfinity, 1);
    const int by_slot = mip_.add_row(std::max(0.0, slots_.cuts.back() - job.deadline), kMipInfinity);
    mip_.add(by_slot, tardiness, 1);
    std::vector<int> by_work;
    for (int phase = 0; phase < kPhases; ++phase) {
      by_work.push_back(mip_.add_row(0, kMipInfinity));
      mip_.add(by_work.back(), tardiness, 1);
    }
    std::vector<int> by_speed;
    for (int k = 0; k < kTangents && job.second > job.fastest; ++k) {
      const double at = double(k) / kTangents;
      by_speed.push_back(mip_.add_row(job.lead(at) - job.lead_slope(at) * at, kMipInfinity));
      mip_.add(by_speed.back(), tardiness, 1);
    }
    const std::size_t first =
        std::size_t(std::lower_bound(slots_.cuts.begin(), slots_.cuts.end(), job.release) - slots_.cuts.begin());
    int worked = -1, ended = -1;  // X and z of the previous slot
    for (std::size_t s = first; s < slots_.count(); ++s) {
      const int balance = mip_.add_row(slots_.endless(s) ? 1 : 0, slots_.endless(s) ? 1 : 0);
      if (worked >= 0) mip_.add(balance, worked, 1);
      if (!slots_.endless(s)) mip_.add(balance, worked = mip_.add_column(0, 1, 0), -1);
      add_work(job, s, balance, by_work, by_speed);
      if (!may_end(job, s)) continue;
      const int end = mip_.add_column(0, 1, 0, true), all_done = mip_.add_row(0, kMipInfinity);
      ++binaries_;
      mip_.add(all_done, worked, 1);
      mip_.add(all_done, end, -1);
      mip_.add(by_slot, end, slots_.cuts[s + 1] - std::max(slots_.cuts[s], job.deadline));
      if (ended >= 0) {
        const int stays = mip_.add_row(0, kMipInfinity);
        mip_.add(stays, end, 1);
        mip_.add(stays, ended, -1);
      }
      ended = end;
    }
  }

  const MipProblem& mip() const { return mip_; }
  std::size_t binaries() const { return binaries_; }

 private:
  // The columns of the work in slot s: minutes on each class of machines; in the endless slot the share itself.
  void add_work(const LateJob& job, std::size_t s, int balance, const std::vector<int>& by_work,
                const std::vector<int>& by_speed) {
    const auto add_column = [&](double most, double share, bool fast) {
      const int column = mip_.add_column(0, most, 0);
      mip_.add(balance, column, share);
      for (int phase = 0; phase < kPhases; ++phase)
        if (const double price = job.price(slots_.cuts[s], job.fastest * phase / kPhases); price != 0)
          mip_.add(by_work[std::size_t(phase)], column, -price * share);
      for (std::size_t k = 0; k < by_speed.size(); ++k) {
        const double slope = fast ? job.lead_slope(double(k) / kTangents) : 0;
        mip_.add(by_speed[k], column, (job.deadline - slots_.cuts[s] - slope) * share);
      }
      return column;
    };
    if (slots_.endless(s)) {
      add_column(1, 1, true);
      return;
    }
    const int one_machine = machines_.size() > 1 ? mip_.add_row(-kMipInfinity, slots_.length(s)) : -1;
    for (std::size_t c = 0; c < machines_.size(); ++c) {
      const int column = add_column(std::min(slots_.length(s), 1 / job.speeds[c]), job.speeds[c],
                                    job.speeds[c] * job.fastest > 1 - 1e-12);
      mip_.add(capacity_[s * machines_.size() + c], column, 1);
      if (one_machine >= 0) mip_.add(one_machine, column, 1);
    }
  }

  bool may_end(const LateJob& job, std::size_t s) const {
    if (slots_.endless(s)) return false;  // the job has ended by then
    if (slots_.cuts[s + 1] < job.release + job.fastest - 1e-9)
      return false;                            // rounding must not forbid what is barely possible
    return slots_.cuts[s + 1] > job.deadline;  // otherwise the next slot costs no more and serves as well
  }

  const Slots& slots_;
  const std::vector<Machines>& machines_;
  MipProblem mip_;
  std::vector<int> capacity_;  // by slot, class
  std::size_t binaries_ = 0;
};

Result<Ok> take_runs(const std::vector<LateJob>& late, const std::vector<Machines>& machines,
                     const TardinessOptions& options, double certain, double n, TardinessBound& result) {
  RunsOptions runs;
  if (options.search_steps > 0) runs.search_steps = options.search_steps;
  runs.branches = options.branches;
  runs.close = kMetShare;
  runs.certain = certain;
  SMARTMIG_TRY(const RunsAnswer answer, solve_tardiness(late, machines, runs));
  result.root_min = (certain + answer.root) / n;
  result.mean_min = std::max(result.mean_min, (certain + answer.bound) / n);
  result.schedule_min = std::min(result.schedule_min, (certain + answer.schedule) / n);
  result.met = answer.solved;
  result.branches = answer.branches;
  result.seconds += answer.seconds;
  return Ok{};
}

}  // namespace

Result<TardinessBound> tardiness_bound(const Platform& platform, const JobTable& jobs,
                                       const TardinessOptions& options) {
  SMARTMIG_RETURN_IF_ERROR(require_least_times(jobs));
  if (!(options.slot_min > 0))
    return invalid("{} needs slots longer than 0 minutes, not {}", kTardinessName, options.slot_min);
  SMARTMIG_TRY(const std::vector<Machines> machines, make_machines(platform, options));
  std::vector<LinearJob> linear;
  if (!options.own_speeds) {
    SMARTMIG_TRY(linear, linearise(platform, jobs, kTardinessName));
  }
  TardinessBound result;
  std::vector<LateJob> late;
  double certain = 0;  // sum of the tardiness that no schedule avoids
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (jobs.job(JobId(j)).deadline == kNever) continue;
    SMARTMIG_TRY(LateJob job, make_job(jobs, JobId(j), options.own_speeds ? nullptr : &linear[j], machines));
    certain += job.least;
    if (!job.speeds.empty()) late.push_back(std::move(job));
  }
  result.proven_optimal = late.empty();
  if (jobs.size() == 0) return result;
  const double n = double(jobs.size());
  result.mean_min = certain / n;
  if (late.empty()) {
    result.program_min = result.root_min = result.schedule_min = result.mean_min;
    result.met = true;
    return result;
  }

  double horizon = safe_horizon(late, machines);
  if (options.horizon_min > 0) horizon = std::min(horizon, options.horizon_min);
  if ((std::max(0.0, horizon - late.front().release) / options.slot_min + double(late.size())) * double(late.size()) >
      double(kMostTardinessBinaries))
    return invalid(
        "{} would need more than {} binary variables for {} jobs in slots of {} min: use fewer jobs, wider slots, or "
        "the bound that scales",
        kTardinessName, kMostTardinessBinaries, jobs.size(), options.slot_min);
  const Slots slots = make_slots(late, options.slot_min, horizon);
  result.slots = slots.count();
  for (std::size_t s = 0; s + 1 < slots.count(); ++s) result.slot_min = std::max(result.slot_min, slots.length(s));
  if (options.branches < 0 && options.search_steps > 0 && !options.layouts.empty())
    result.schedule_min = (certain + search_tardiness(late, machines, options.search_steps)) / n;
  TardinessProgram program(slots, machines);
  for (const LateJob& job : late) program.add(job);
  SMARTMIG_TRY(const MipAnswer answer, solve_mip(program.mip(), options.limits, kTardinessName));
  result.binaries = program.binaries();
  result.nodes = answer.nodes;
  result.seconds = answer.seconds;
  result.proven_optimal = answer.optimal;
  const double safe = answer.bound - kMipTolerance * (n + std::abs(answer.bound));
  result.mean_min = result.program_min = (certain + std::max(0.0, safe)) / n;
  result.mip_gap_min = std::max(0.0, (certain + answer.incumbent) / n - result.mean_min);
  if (options.branches >= 0) {
    SMARTMIG_TRY([[maybe_unused]] const Ok taken, take_runs(late, machines, options, certain, n, result));
  }
  return result;
}

}  // namespace smartmig
