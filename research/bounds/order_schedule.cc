#include "research/bounds/order_schedule.h"

#include "research/bounds/growing_lp.h"

namespace smartmig {
namespace {

struct OrderEvent {
  double about;
  std::size_t job;
  bool release;
};

class OrderProgram {
 public:
  OrderProgram(const std::vector<LateJob>& jobs, const std::vector<Machines>& machines,
               const std::vector<OrderEvent>& events)
      : jobs_(jobs), machines_(machines), events_(events), begin_(jobs.size()), end_(jobs.size()) {
    for (std::size_t e = 0; e < events.size(); ++e) (events[e].release ? begin_ : end_)[events[e].job] = e;
    add_rows();
    add_columns();
  }
  Result<Ok> solve() { return lp_.solve("the best schedule of an order"); }
  double tardiness() const { return lp_.objective(); }
  // Neighbours e and e + 1 for which the other order would be better.
  bool unwilling(std::size_t e) const { return lp_.duals()[stretches_[e].length] > 1e-7; }

  OrderedSchedule schedule() const {
    OrderedSchedule result;
    result.runs.resize(jobs_.size());
    const double* values = lp_.values();
    std::vector<double> times;
    for (const OrderEvent& event : events_)
      times.push_back(event.release ? jobs_[event.job].release : values[end_column_[event.job]]);
    result.tardiness = 0;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      result.ends.push_back(times[end_[j]]);
      result.runs[j].end = times[end_[j]];
      result.tardiness += std::max(0.0, times[end_[j]] - jobs_[j].deadline);
    }
    for (const Use& use : uses_)
      if (const double minutes = values[use.column]; minutes > 1e-9)
        result.runs[use.job].pieces.push_back({times[use.stretch], times[use.stretch + 1], minutes, use.machine});
    return result;
  }

 private:
  struct Stretch {
    int length;
    std::vector<int> capacity;                         // by class
    std::vector<std::pair<std::size_t, int>> present;  // jobs and their rows
  };
  struct Use {
    std::size_t job, stretch, machine;
    int column;
  };

  // The constant of a row `sum of coefficients >= 0`: releases are numbers, so their part is on the other side.
  double constant(std::size_t e) const { return events_[e].release ? jobs_[events_[e].job].release : 0; }

  void add_rows() {
    for (const LateJob& job : jobs_) {
      late_.push_back(lp_.add_row(-job.deadline, kMipInfinity));
      progress_.push_back(lp_.add_row(1, 1));
    }
    for (std::size_t e = 0; e + 1 < events_.size(); ++e) {
      const double known = constant(e + 1) - constant(e);
      Stretch stretch{lp_.add_row(-known, kMipInfinity), {}, {}};
      for (const Machines& m : machines_) stretch.capacity.push_back(lp_.add_row(-m.count * known, kMipInfinity));
      for (std::size_t j = 0; j < jobs_.size(); ++j)
        if (begin_[j] <= e && end_[j] > e) stretch.present.emplace_back(j, lp_.add_row(-known, kMipInfinity));
      stretches_.push_back(std::move(stretch));
    }
  }

  void add_columns() {
    std::vector<GrowingLp::Entry> entries;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      entries = {{late_[j], 1}};
      lp_.add_column(1, entries, kMipInfinity);
      entries = {{late_[j], -1}};
      const auto ends_stretch = [&](std::size_t e, double sign) {
        entries.push_back({stretches_[e].length, sign});
        for (std::size_t c = 0; c < machines_.size(); ++c)
          entries.push_back({stretches_[e].capacity[c], sign * machines_[c].count});
        for (const auto& [job, row] : stretches_[e].present) entries.push_back({row, sign});
      };
      ends_stretch(end_[j] - 1, 1);
      if (end_[j] < stretches_.size()) ends_stretch(end_[j], -1);
      end_column_.push_back(lp_.add_column(0, entries, kMipInfinity));
    }
    for (std::size_t e = 0; e < stretches_.size(); ++e)
      for (const auto& [job, row] : stretches_[e].present)
        for (std::size_t c = 0; c < machines_.size(); ++c) {
          if (jobs_[job].speeds[c] <= 0) continue;
          entries = {{progress_[job], jobs_[job].speeds[c]}, {stretches_[e].capacity[c], -1}, {row, -1}};
          uses_.push_back({job, e, c, lp_.add_column(0, entries, kMipInfinity)});
        }
  }

  const std::vector<LateJob>& jobs_;
  const std::vector<Machines>& machines_;
  const std::vector<OrderEvent>& events_;
  std::vector<std::size_t> begin_, end_;  // events of each job
  std::vector<int> late_, progress_, end_column_;
  std::vector<Stretch> stretches_;
  std::vector<Use> uses_;
  GrowingLp lp_;
};

}  // namespace

OrderedSchedule best_in_order(const std::vector<LateJob>& jobs, const std::vector<Machines>& machines,
                              const std::vector<double>& ends, int most_rounds) {
  std::vector<OrderEvent> events;
  for (std::size_t j = 0; j < jobs.size(); ++j) events.push_back({jobs[j].release, j, true});
  for (std::size_t j = 0; j < jobs.size(); ++j) events.push_back({ends[j], j, false});
  std::stable_sort(events.begin(), events.end(),
                   [](const OrderEvent& x, const OrderEvent& y) { return x.about < y.about; });
  OrderedSchedule best;
  for (int round = 0; round < most_rounds; ++round) {
    OrderProgram program(jobs, machines, events);
    if (!program.solve()) break;
    const double before = best.tardiness;
    OrderedSchedule now = program.schedule();
    if (now.tardiness < before) best = std::move(now);
    if (best.tardiness > before - 1e-6) break;
    bool changed = false;
    for (std::size_t e = 0; e + 1 < events.size(); ++e) {
      if (!program.unwilling(e) || events[e].job == events[e + 1].job || (events[e].release && events[e + 1].release))
        continue;
      std::swap(events[e], events[e + 1]);
      changed = true;
      ++e;
    }
    if (!changed) break;
  }
  return best;
}

}  // namespace smartmig
