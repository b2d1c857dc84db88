#include "research/bounds/tardiness_search.h"

#include <numeric>

#include "base/math.h"
#include "base/rng.h"

namespace smartmig {
namespace {

constexpr std::uint64_t kSeed = 11;
constexpr double kHot = 0.03, kCold = 0.0003;  // temperatures, as shares of the first value
constexpr double kNothing = 1e-9;              // the least share of a job that counts

class Schedule {
 public:
  Schedule(const std::vector<LateJob>& jobs, const std::vector<Machines>& machines) : jobs_(jobs), machines_(machines) {
    for (const LateJob& job : jobs) {
      releases_.push_back(job.release);
      std::vector<std::size_t> by_speed(machines.size());
      std::iota(by_speed.begin(), by_speed.end(), 0);
      std::stable_sort(by_speed.begin(), by_speed.end(),
                       [&](std::size_t x, std::size_t y) { return job.speeds[x] > job.speeds[y]; });
      fastest_first_.push_back(std::move(by_speed));
    }
    std::sort(releases_.begin(), releases_.end());
  }

  double tardiness(const std::vector<std::size_t>& order) {
    left_.assign(jobs_.size(), 1);
    ends_.assign(jobs_.size(), 0);
    open_ = order;
    double now = releases_.front(), sum = 0;
    std::size_t next_release = 0;
    while (!open_.empty()) {
      while (next_release < releases_.size() && releases_[next_release] <= now) ++next_release;
      double until = next_release < releases_.size() ? releases_[next_release] : kMipInfinity;
      place(now, until);
      for (const auto& [job, speed] : running_) left_[job] -= speed * (until - now);
      now = until;
      std::erase_if(open_, [&](std::size_t job) {
        if (left_[job] > kNothing) return false;
        sum += std::max(0.0, now - jobs_[job].deadline);
        ends_[job] = now;
        return true;
      });
    }
    return sum;
  }
  const std::vector<double>& ends() const { return ends_; }  // for the last tried order

 private:
  // Which job runs where from now on, and until when nothing changes.
  void place(double now, double& until) {
    running_.clear();
    free_.clear();
    int machines_left = 0;
    for (const Machines& m : machines_) {
      free_.push_back(m.count);
      machines_left += m.count;
    }
    for (const std::size_t job : open_) {
      if (machines_left == 0) break;
      if (jobs_[job].release > now) continue;
      for (const std::size_t c : fastest_first_[job]) {
        const double speed = jobs_[job].speeds[c];
        if (free_[c] == 0 || speed <= 0) continue;
        --free_[c];
        --machines_left;
        running_.push_back({job, speed});
        until = std::min(until, now + left_[job] / speed);
        break;
      }
    }
  }

  const std::vector<LateJob>& jobs_;
  const std::vector<Machines>& machines_;
  std::vector<double> releases_, left_, ends_;
  std::vector<std::vector<std::size_t>> fastest_first_;  // by job: classes of machines
  std::vector<std::size_t> open_;                        // unfinished, by priority
  std::vector<int> free_;
  std::vector<std::pair<std::size_t, double>> running_;
};

}  // namespace

double tardiness_of_order(const std::vector<LateJob>& jobs, const std::vector<Machines>& machines,
                          const std::vector<std::size_t>& order) {
  return jobs.empty() ? 0 : Schedule(jobs, machines).tardiness(order);
}

std::vector<double> ends_of_order(const std::vector<LateJob>& jobs, const std::vector<Machines>& machines,
                                  const std::vector<std::size_t>& order) {
  if (jobs.empty()) return {};
  Schedule schedule(jobs, machines);
  schedule.tardiness(order);
  return schedule.ends();
}

double search_tardiness(const std::vector<LateJob>& jobs, const std::vector<Machines>& machines, int steps) {
  return tardiness_of_order(jobs, machines, search_order(jobs, machines, steps));
}

std::vector<std::size_t> search_order(const std::vector<LateJob>& jobs, const std::vector<Machines>& machines,
                                      int steps) {
  if (jobs.empty()) return {};
  Schedule schedule(jobs, machines);
  std::vector<std::size_t> order(jobs.size()), first;
  double best = kMipInfinity;
  const auto start = [&](auto key) {
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t x, std::size_t y) { return key(jobs[x]) < key(jobs[y]); });
    if (const double value = schedule.tardiness(order); value < best) {
      best = value;
      first = order;
    }
  };
  start([](const LateJob& job) { return job.deadline; });
  start([](const LateJob& job) { return job.slowest; });
  start([](const LateJob& job) { return job.fastest; });
  start([](const LateJob& job) { return job.deadline - job.fastest; });
  Rng rng(kSeed, jobs.size());
  double value = best;
  const double scale = best;
  order = first;
  std::vector<std::size_t> tried;
  for (int step = 0; step < steps && best > 0; ++step) {
    tried = order;
    const std::size_t from = rng.below(order.size()), to = rng.below(order.size());
    if (from == to) continue;
    if (rng.uniform() < 0.5) {
      std::swap(tried[from], tried[to]);
    } else {
      const std::size_t job = tried[from];
      tried.erase(tried.begin() + std::ptrdiff_t(from));
      tried.insert(tried.begin() + std::ptrdiff_t(to), job);
    }
    const double now = schedule.tardiness(tried);
    const double share = double(step) / steps;
    const double heat = scale * kHot * deterministic_exp(share * deterministic_log(kCold / kHot));
    if (now > value && rng.uniform() >= deterministic_exp((value - now) / heat)) continue;
    value = now;
    order.swap(tried);
    if (value < best) {
      best = value;
      first = order;
    }
  }
  return first;
}

}  // namespace smartmig
