#include "policy/planner/batch_schedule.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "model/reconfig.h"
#include "policy/planner/tightest_memory.h"

namespace smartmig {
namespace {

constexpr double kOrderShare = 0.1, kChangeShare = 0.01;
constexpr double kFewRounds = 2.5;         // of the longest job, on the size that takes fewest slice-seconds
constexpr double kAlike = 1.6;             // mean of the squares of their slice-seconds over the square of the mean
constexpr double kChangesQueueWithin = 3;  // seconds: changes of one GPU this near to each other come one by one

ScheduleProblem::Geometry geometry_of(const Platform::Model& model) {
  ScheduleProblem::Geometry out;
  const GpuModel& gpu = *model.gpu;
  SMARTMIG_CHECK(std::size_t(gpu.memory_slices()) <= PaperBoard::kSlots, "{} has more memory slices", gpu.name());
  out.slots = std::size_t(gpu.memory_slices());
  out.ends = std::size_t(std::min(gpu.memory_slices(), gpu.compute_slices() * (model.halves != 0 ? 2 : 1)));
  for (std::size_t p = 0; p < gpu.placements().size(); ++p) {
    const Placement& placement = gpu.placements()[p];
    const ReconfigTime times = reconfig_time(gpu, placement.profile);
    out.mask.push_back(std::uint16_t(placement.mask));
    out.first.push_back(placement.start);
    out.slices.push_back(model.slices_of_placement[p]);
    out.create_s.push_back(seconds(times.create));
    out.destroy_s.push_back(seconds(times.destroy));
    out.type.push_back(model.type_of_placement[p]);
    if (gpu.schedulable_profiles() >> placement.profile & 1) out.offered.push_back(std::uint8_t(p));
  }
  return out;
}

double active_watts(const Cluster& cluster, JobId job, TypeId type) {
  const SliceType& slice = cluster.platform().type(type);
  const Platform::Model& model = cluster.platform().models()[std::size_t(slice.model)];
  if (!model.power.is_table()) return cluster.jobs().added_watts(job, type);
  const int all = model.gpu->compute_slices();
  return (model.power.watts(all, 0) - model.power.idle()) * slice.compute_slices / all;
}

}  // namespace

ScheduleProblem::ScheduleProblem(const Cluster& cluster, std::span<const JobId> jobs, double energy_weight,
                                 BatchOrder order)
    : weight_(energy_weight), types_(cluster.platform().types().size()) {
  if (cluster.cost().reshape) fixed_change_s_ = seconds(*cluster.cost().reshape);
  for (const Platform::Model& model : cluster.platform().models()) geometries_.push_back(geometry_of(model));
  const std::size_t gpus = cluster.gpus().size();
  boards_.resize(gpus);
  for (std::size_t g = 0; g < gpus; ++g) read_board(cluster, g);
  for (const JobId job : jobs) read_job(cluster, job);
  weighs_.assign(ids_.size(), 1.0);
  if (order == BatchOrder::kLongFirst && long_first_pays()) {
    double squares = 0;
    for (const double area : least_area_s_) squares += area * area;
    for (std::size_t j = 0; j < weighs_.size(); ++j)
      weighs_[j] = least_area_s_[j] * least_area_s_[j] * double(ids_.size()) / std::max(1e-9, squares);
  }
  const double open = double(std::max<std::ptrdiff_t>(1, std::count(open_.begin(), open_.end(), 1)));
  whole_joules_ += idle_watts_ * whole_end_s_ / open;
  whole_end_s_ = std::max(1e-6, whole_end_s_ / open);
  whole_joules_ = std::max(1e-6, whole_joules_);
}

// Else the end is far, or short jobs would wait for much longer ones: they would wait for nothing.
bool ScheduleProblem::long_first_pays() const {
  double area = 0, squares = 0, longest = 0;
  for (std::size_t j = 0; j < ids_.size(); ++j) {
    area += least_area_s_[j];
    squares += least_area_s_[j] * least_area_s_[j];
    longest = std::max(longest, efficient_run_s_[j]);
  }
  return area <= kFewRounds * longest * std::max(1, slices_) && squares * double(ids_.size()) <= kAlike * area * area;
}

// Slices that are being made stand there from when they will exist.
void ScheduleProblem::read_board(const Cluster& cluster, std::size_t gpu) {
  const GpuState& state = cluster.gpus()[gpu];
  const Platform::Model& model = cluster.platform().model(GpuId(gpu));
  model_of_.push_back(std::uint8_t(cluster.platform().model_index(GpuId(gpu))));
  open_.push_back(!state.blocked);
  idle_watts_ += model.power.idle();
  on_watts_.push_back(model.power.is_table() ? 0 : model.power.watts(1, 0) - model.power.idle());
  if (state.blocked) return;
  const Geometry& facts = geometry(gpu);
  slices_ += model.gpu->compute_slices();
  ends_ += facts.ends;
  PaperBoard& board = boards_[gpu];
  board.instance.fill(PaperBoard::kNothing);
  std::uint32_t standing = 0;
  const auto stands = [&](PlacementId p, double free_s) {
    standing |= facts.mask[index(p)];
    for (std::size_t s = 0; s < facts.slots; ++s)
      if (facts.mask[index(p)] >> s & 1) board.instance[s] = std::uint8_t(index(p)), board.free_s[s] = free_s;
  };
  for (const PlacementId p : state.layout) {
    double left = 0;
    if (state.busy.contains(p))
      left = std::max(0.0, seconds(cluster.state(state.job_at[index(p)]).finish - cluster.now()));
    board.end_s = std::max(board.end_s, left);
    stands(p, left);
  }
  for (const PlacementId p : state.target - state.layout)
    if ((facts.mask[index(p)] & standing) == 0)
      stands(p, fixed_change_s_ ? *fixed_change_s_ : facts.create_s[index(p)]);
}

void ScheduleProblem::read_job(const Cluster& cluster, JobId job) {
  const Platform& platform = cluster.platform();
  std::vector<double> run(types_, -1), joules(types_, 0), taught(types_, 0);
  const Time resume = cluster.state(job).type == kNoType ? Time{0} : std::max(Time{0}, cluster.jobs().job(job).restart);
  std::vector<std::uint8_t> model_open(geometries_.size(), 0);
  for (std::size_t g = 0; g < boards_.size(); ++g) model_open[model_of_[g]] |= open_[g];
  double area = -1, efficient = 0, whole_s = 0, whole_j = 0;
  int best = 0, most = 0;
  for (std::size_t t = 0; t < types_; ++t) {
    const SliceType& type = platform.type(TypeId(t));
    if (!model_open[std::size_t(type.model)]) continue;
    if (!tightest_memory(cluster, job, TypeId(t))) continue;
    run[t] = seconds(cluster.remaining_on(job, TypeId(t)) + resume);
    joules[t] = run[t] * active_watts(cluster, job, TypeId(t));
    const double a = run[t] * std::min(type.room, double(type.compute_slices));
    taught[t] = double(cluster.jobs().job(job).teaches[std::size_t(type.compute_slices - 1)]) * a;
    if (area < 0 || a < area) area = a, efficient = run[t], best = type.compute_slices;
    if (type.compute_slices > most) most = type.compute_slices, whole_s = run[t], whole_j = joules[t];
  }
  if (area < 0) return;
  ids_.push_back(job);
  run_s_.insert(run_s_.end(), run.begin(), run.end());
  joules_.insert(joules_.end(), joules.begin(), joules.end());
  taught_s_.insert(taught_s_.end(), taught.begin(), taught.end());
  least_area_s_.push_back(area);
  efficient_run_s_.push_back(efficient);
  efficient_slices_.push_back(std::uint8_t(best));
  whole_end_s_ += whole_s;
  whole_joules_ += whole_j;
}

bool ScheduleProblem::alike(std::size_t a, std::size_t b) const {
  const auto same = [&](const std::vector<double>& of) {
    const auto first = of.begin() + std::ptrdiff_t(a * types_);
    return std::equal(first, first + std::ptrdiff_t(types_), of.begin() + std::ptrdiff_t(b * types_));
  };
  return same(run_s_) && same(joules_) && same(taught_s_);
}

bool ScheduleProblem::lay(std::size_t gpu, PlannedRun run, PaperBoard& board) const {
  const Geometry& facts = geometry(gpu);
  const double took = run_s_[run.job * types_ + index(facts.type[run.where])];
  if (took < 0) return false;
  const unsigned mask = facts.mask[run.where];
  const std::size_t first = facts.first[run.where];
  double start = 0;
  for (std::size_t s = first; s < PaperBoard::kSlots && (mask >> s & 1); ++s) start = std::max(start, board.free_s[s]);
  if (board.instance[first] != run.where) {
    double change = facts.create_s[run.where];
    unsigned gone = 0;
    for (std::size_t s = first; s < PaperBoard::kSlots && (mask >> s & 1); ++s) {
      const std::uint8_t stands = board.instance[s];
      if (stands == PaperBoard::kNothing || (facts.mask[stands] & gone) != 0) continue;
      gone |= facts.mask[stands];
      change += facts.destroy_s[stands];
    }
    if (fixed_change_s_) change = *fixed_change_s_;
    for (std::size_t s = 0; s < facts.slots; ++s)  // the rest of what goes must be free, too
      if (gone >> s & 1) start = std::max(start, board.free_s[s]);
    if (board.changes_until_s > start && board.changes_until_s < start + kChangesQueueWithin)
      start = board.changes_until_s;
    start += change;
    board.changes_until_s = start;
    board.change_s += change;
    for (std::size_t s = 0; s < facts.slots; ++s)
      if (gone >> s & 1) board.instance[s] = PaperBoard::kNothing, board.free_s[s] = start;
    for (std::size_t s = first; s < PaperBoard::kSlots && (mask >> s & 1); ++s) board.instance[s] = run.where;
  }
  const double end = start + took;
  for (std::size_t s = first; s < PaperBoard::kSlots && (mask >> s & 1); ++s) board.free_s[s] = end;
  board.end_s = std::max(board.end_s, end);
  const double share = double(facts.slices[run.where]) / std::max(1, slices_), whole = share * share;
  board.order_s += took + start * (whole + (1 - whole) * weighs_[run.job]);
  board.joules += joules_[run.job * types_ + index(facts.type[run.where])];
  board.taught_s += taught_s_[run.job * types_ + index(facts.type[run.where])];
  return true;
}

ScheduleValue ScheduleProblem::value_of(std::size_t gpu, const PaperBoard& board) const {
  ScheduleValue out{board.end_s, board.order_s, board.joules + on_watts_[gpu] * board.end_s, board.change_s,
                    0,           board.taught_s};
  for (std::size_t s = 0; s < geometry(gpu).ends; ++s) out.squares_s2 += board.free_s[s] * board.free_s[s];
  return out;
}

double ScheduleProblem::worth(const ScheduleValue& all, double even) const {
  const double jobs = double(std::max<std::size_t>(1, ids_.size())), ends = double(std::max<std::size_t>(1, ends_));
  return (1 - weight_) * (all.end_s + even * std::sqrt(all.squares_s2 / ends)) / whole_end_s_ +
         weight_ * (all.joules + idle_watts_ * all.end_s) / whole_joules_ +
         (kOrderShare * all.order_s / jobs + kChangeShare * all.change_s / double(boards_.size()) -
          all.taught_s / std::max(1, slices_)) /
             whole_end_s_;
}

}  // namespace smartmig
