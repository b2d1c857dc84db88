#include "eval/counterfactual.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "eval/policy_stack.h"

namespace smartmig {
namespace {

constexpr double kRounding = 1e-6;  // shares this close to the whole count as the whole: they sum rescaled microseconds

// What each job did in the record, as shares of its expected work given the jobs that ran on its GPU.
class RecordedShares {
 public:
  RecordedShares(const Platform& platform, const JobTable& jobs, const CostModel& cost)
      : platform_(platform), jobs_(jobs), cost_(cost), progress_(jobs.size()), boards_(platform.gpus()) {}

  void see(const Event& event) {
    if (event.job == kNoJob || index(event.job) >= progress_.size()) return;
    Progress& job = progress_[index(event.job)];
    if (event.kind == EventKind::kStarted) {
      comes(event);
      if (job.ran && !cost_.free()) job.since += std::max(Time{0}, jobs_.job(event.job).restart);
      job.ran = true;
    } else if (event.kind == EventKind::kFoundRunning || event.kind == EventKind::kFoundWaiting) {
      const TypeId type = platform_.type_of(event.gpu, event.where);
      if (const double whole = double(jobs_.work(event.job, type).count()); whole > 0)
        job.share += std::max(0.0, 1 - double(event.left.count()) / whole);  // its progress before the record
      if (event.kind == EventKind::kFoundRunning) comes(event);
      job.ran = true;
    } else if (event.kind == EventKind::kStopped || event.kind == EventKind::kFinished ||
               event.kind == EventKind::kWithdrawn) {
      if (job.type != kNoType) goes(event);
    }
  }

  double of(std::size_t job) const {
    const double share = progress_[job].share;
    return share == 0 || std::abs(share - 1) < kRounding ? 1 : share;
  }

 private:
  struct Progress {
    Time since{};           // counted up to here
    TypeId type = kNoType;  // where it runs; kNoType: nowhere
    GpuId gpu = kNoGpu;
    double share = 0;
    bool ran = false;
  };
  struct Board {
    std::vector<JobId> jobs;
    int slices = 0;
  };
  int slices_of(JobId id) const {
    return jobs_.job(id).idle ? 0 : platform_.type(progress_[index(id)].type).compute_slices;
  }

  void count(JobId id, Time now) {
    Progress& job = progress_[index(id)];
    const double whole = double(jobs_.work(id, job.type).count()), ran = double((now - job.since).count());
    if (ran <= 0) return;
    const double others =
        double(boards_[index(job.gpu)].slices - slices_of(id)) / platform_.model(job.gpu).gpu->compute_slices();
    if (whole > 0) job.share += ran / whole / jobs_.job(id).crowding.factor(others);
    job.since = now;
  }
  void count_neighbours(const Board& board, Time now) {
    if (!jobs_.has_crowding()) return;
    for (const JobId id : board.jobs) count(id, now);
  }
  void comes(const Event& event) {
    Board& board = boards_[index(event.gpu)];
    count_neighbours(board, event.at);
    Progress& job = progress_[index(event.job)];
    job.type = platform_.type_of(event.gpu, event.where);
    job.gpu = event.gpu;
    job.since = event.at;
    board.jobs.push_back(event.job);
    board.slices += slices_of(event.job);
  }
  void goes(const Event& event) {
    Progress& job = progress_[index(event.job)];
    Board& board = boards_[index(job.gpu)];
    count_neighbours(board, event.at);
    if (event.kind != EventKind::kWithdrawn) count(event.job, event.at);
    std::erase(board.jobs, event.job);
    board.slices -= slices_of(event.job);
    job.type = kNoType;
  }

  const Platform& platform_;
  const JobTable& jobs_;
  const CostModel cost_;
  std::vector<Progress> progress_;
  std::vector<Board> boards_;
};

}  // namespace

Result<RecordedDay> recorded_day(std::shared_ptr<const Platform> platform, const JobTable& jobs, const CostModel& cost,
                                 std::vector<Layout> initial, double a, std::span<const Event> events,
                                 const Cluster& final) {
  const Workload& before = jobs.workload();
  RecordedShares recorded(*platform, jobs, cost);
  for (const Event& event : events) recorded.see(event);
  RecordedDay day;
  day.cost = cost;
  day.initial = std::move(initial);
  day.a = a;

  std::map<std::string, std::size_t> first;  // first arrival of each name
  std::vector<std::size_t> done;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    first.emplace(before.name_of(j), j);
    if (final.states()[j].phase == JobPhase::kDone) done.push_back(j);
  }
  if (done.empty()) return invalid("no job of the record finished, so there is nothing to simulate");
  const auto arrival = [&](std::size_t j) -> const Job& { return before.jobs[first.at(before.name_of(j))]; };
  std::stable_sort(done.begin(), done.end(),
                   [&](std::size_t x, std::size_t y) { return arrival(x).submit < arrival(y).submit; });

  Workload expected;
  expected.source = before.source;
  expected.reference_gpu = before.reference_gpu;
  expected.kinds = before.kinds;
  expected.days = before.days;
  std::vector<double> shares;
  std::map<std::string, int> finished;
  for (const std::size_t j : done) {
    Job job = before.jobs[j];
    job.submit = arrival(j).submit;
    job.deadline = arrival(j).deadline;
    expected.jobs.push_back(job);
    expected.names.push_back(before.name_of(j));
    shares.push_back(recorded.of(j));
    day.finish.push_back(final.states()[j].finish);
    day.joules.push_back(final.states()[j].joules);
    day.returned += first.at(before.name_of(j)) != j;
    ++finished[before.name_of(j)];
  }
  for (const auto& [name, j] : first) day.left_out += !finished.count(name);

  Workload measured = expected;
  for (std::size_t i = 0; i < shares.size(); ++i)
    for (Time& work : measured.jobs[i].work)
      if (work > Time{0} && shares[i] != 1)
        work = std::min(from_seconds(kMaxSeconds), rounded(double(work.count()) * shares[i]));
  for (Workload* workload : {&expected, &measured}) SMARTMIG_RETURN_IF_ERROR(validate(*workload));
  SMARTMIG_TRY(JobTable as_expected, JobTable::bind(std::make_shared<const Workload>(std::move(expected)), *platform));
  SMARTMIG_TRY(JobTable as_measured, JobTable::bind(std::make_shared<const Workload>(std::move(measured)), *platform));
  day.expected = std::make_shared<const JobTable>(std::move(as_expected));
  day.measured = std::make_shared<const JobTable>(std::move(as_measured));
  day.platform = std::move(platform);

  // The figures of the replayed jobs.
  Summary& s = day.recorded = summarize(final, a, before.days);
  s.jobs = done.size();
  s.unfinished_jobs = day.left_out;
  std::vector<double> late;
  s.late_jobs = 0;
  for (std::size_t i = 0; i < day.finish.size(); ++i) {
    late.push_back(minutes(tardiness_of(day.measured->job(JobId(std::uint32_t(i))), day.finish[i])));
    s.late_jobs += late.back() > 0;
  }
  s.mean_tardiness_min = std::accumulate(late.begin(), late.end(), 0.0) / double(late.size());
  s.max_tardiness_min = *std::max_element(late.begin(), late.end());
  s.et_sum = s.a * s.energy_wmin + s.mean_tardiness_min;
  s.et = s.et_sum / (s.a + 1);
  return day;
}

Result<SimResult> live_again(const RecordedDay& day, std::shared_ptr<const JobTable> jobs, const std::string& policy,
                             const ReplayOptions& options, LivedDay* lived) {
  Setting setting;
  setting.platform = day.platform;
  setting.cost = day.cost;
  setting.a = day.a;
  Contender contender = contender_of(policy, options.policy);
  contender.options.rule.a = day.a;
  contender.options.rule.w = options.w ? *options.w : per_job_weight(setting, jobs->workload());
  SMARTMIG_TRY(const PolicyStack named,
               PolicyStack::make({contender.policy, contender.options, day.cost}, day.platform));
  std::vector<Layout> initial = day.initial;
  if (!options.recorded_layouts) {
    SMARTMIG_TRY(initial, initial_layouts(*day.platform, named.initial));
  }
  if (lived) lived->initial = initial;
  auto result = simulate({day.platform, std::move(jobs), day.cost, std::move(initial), day.a}, *named.policy,
                         lived ? &lived->journal : nullptr);
  if (!result) return Error{result.error().code, fmt::format("{}: {}", policy, result.error().what)};
  return result;
}

ReplayFidelity fidelity_of(const RecordedDay& day, const SimResult& simulated,
                           const std::map<std::string, double>& measured_joules) {
  std::vector<double> relative, in_seconds, energy;
  const Workload& workload = day.measured->workload();
  for (std::size_t i = 0; i < day.finish.size(); ++i) {
    const JobState& state = simulated.final.states()[i];
    const double error_s = std::abs(seconds(state.finish - day.finish[i]));
    in_seconds.push_back(error_s);
    if (const double turnaround = seconds(day.finish[i] - workload.jobs[i].submit); turnaround > 0)
      relative.push_back(error_s / turnaround);
    const auto told = measured_joules.find(workload.name_of(i));
    if (const double joules = told == measured_joules.end() ? day.joules[i] : told->second; joules > 0)
      energy.push_back(std::abs(state.joules - joules) / joules);
  }
  ReplayFidelity out;
  out.finish = error_figures(std::move(relative));
  out.energy = error_figures(std::move(energy));
  const ErrorFigures plain = error_figures(std::move(in_seconds));
  out.mean_s = plain.mean;
  out.p90_s = plain.p90;
  out.total_energy =
      day.recorded.energy_joules > 0 ? simulated.summary.energy_joules / day.recorded.energy_joules - 1 : 0;
  out.mean_tardiness_min = simulated.summary.mean_tardiness_min;
  return out;
}

}  // namespace smartmig
