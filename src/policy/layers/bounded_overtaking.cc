#include "policy/layers/bounded_overtaking.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <unordered_map>

#include "base/rng.h"
#include "base/text.h"
#include "model/reconfig.h"

namespace smartmig {
namespace {

constexpr Time kSlip{60'000'000};  // a reservation may move once it is later than promised by more than this

bool schedulable(const Profile& profile) {
  return profile.variant == Variant::kPlain || profile.variant == Variant::kDoubleMemory ||
         profile.variant == Variant::kHalfMemory;
}

}  // namespace

const BoundedOvertaking::Reservation* BoundedOvertaking::reservation_of(JobId job) const {
  const auto at = std::find_if(memory_.reservations.begin(), memory_.reservations.end(),
                               [&](const auto& r) { return r.job == job; });
  return at == memory_.reservations.end() ? nullptr : &*at;
}

const BoundedOvertaking::Reservation* BoundedOvertaking::reservation_on(GpuId gpu) const {
  const auto at = std::find_if(memory_.reservations.begin(), memory_.reservations.end(),
                               [&](const auto& r) { return r.gpu == gpu; });
  return at == memory_.reservations.end() ? nullptr : &*at;
}

std::uint64_t BoundedOvertaking::name_hash(JobId job) const {
  const Workload& workload = cluster_->jobs().workload();
  const std::uint64_t name = workload.names.empty() ? index(job) : hash_text(workload.names[index(job)]);
  return mix64(name, std::uint64_t(workload.jobs[index(job)].submit.count()));
}

bool BoundedOvertaking::waits(JobId job) const { return cluster_->state(job).phase == JobPhase::kQueued; }

// Handles a cluster that is not the one of the last decision: the same world after a withdrawal or with its jobs
// renumbered, or another world. Jobs are recognised by name. A clock that went back means another world.
void BoundedOvertaking::see_new_cluster() {
  identity_ = cluster_->identity();
  const std::size_t gpus = cluster_->gpus().size();
  if (cluster_->now() < memory_.last_now || memory_.wanted.size() != gpus) {
    memory_.rows.clear();
    memory_.asked.clear();
    memory_.reservations.clear();
    memory_.wanted.resize(gpus);
    for (std::size_t g = 0; g < gpus; ++g) memory_.wanted[g] = cluster_->gpus()[g].target;
  }
  std::unordered_map<std::uint64_t, Row> known;
  for (const Row& row : memory_.rows)
    if (row.name != 0) known.emplace(row.name, row);
  std::vector<Row> before = std::move(memory_.rows);
  std::unordered_map<std::uint64_t, JobId> now_called;
  memory_.rows.assign(cluster_->states().size(), {});
  for (JobId job = cluster_->first_unfinished(); job != kNoJob; job = cluster_->next_unfinished(job)) {
    const std::uint64_t name = name_hash(job);
    const auto found = known.find(name);
    memory_.rows[index(job)] = found == known.end() ? first_row(name) : found->second;
    now_called.emplace(name, job);
  }
  const auto find = [&](std::uint64_t name) {
    const auto found = now_called.find(name);
    return found == now_called.end() ? kNoJob : found->second;
  };
  for (Asked& asked : memory_.asked) asked.start.job = find(asked.name);
  for (Reservation& r : memory_.reservations) r.job = find(before[index(r.job)].name);
}

BoundedOvertaking::Row BoundedOvertaking::first_row(std::uint64_t name) {
  const auto at =
      std::find_if(memory_.restored.begin(), memory_.restored.end(), [&](const Row& row) { return row.name == name; });
  if (at == memory_.restored.end()) return {name};
  const Row row = *at;
  memory_.restored.erase(at);
  return row;
}

std::string BoundedOvertaking::counts_text() const {
  std::string text;
  for (const auto* rows : {&memory_.rows, &memory_.restored})
    for (const Row& row : *rows)
      if (row.overtaken > 0 || row.due)
        text += fmt::format("{}{:x}:{}:{}", text.empty() ? "" : ",", row.name, row.overtaken, int(row.due));
  return text;
}

BoundedOvertaking::Memory BoundedOvertaking::counts_in(const std::string& text) {
  Memory memory;
  for (const std::string_view item : split(text, ',')) {
    const auto parts = split(item, ':');
    if (parts.size() != 3) continue;
    Row row;
    const auto read = std::from_chars(parts[0].data(), parts[0].data() + parts[0].size(), row.name, 16);
    const auto count = parse_int(parts[1]);
    if (read.ec != std::errc() || !count || *count < 0 || *count > kNoBound) continue;
    row.overtaken = std::uint32_t(*count);
    row.due = parts[2] == "1";
    memory.restored.push_back(row);
  }
  return memory;
}

void BoundedOvertaking::count_starts() {
  std::vector<Asked> started;
  for (const Asked& asked : memory_.asked)
    if (asked.start.job == kNoJob || !waits(asked.start.job)) started.push_back(asked);
  memory_.asked.clear();
  if (started.empty()) return;
  for (const Asked& s : started)
    if (s.start.job != kNoJob) memory_.rows[index(s.start.job)] = {memory_.rows[index(s.start.job)].name};
  std::sort(started.begin(), started.end(), [](const Asked& a, const Asked& b) { return a.order < b.order; });
  const Platform& platform = cluster_->platform();
  for (JobId job = cluster_->first_unfinished(); job != kNoJob; job = cluster_->next_unfinished(job)) {
    if (!waits(job)) continue;
    Row& row = memory_.rows[index(job)];
    auto later = std::upper_bound(started.begin(), started.end(), order(job),
                                  [](const Order& o, const Asked& s) { return o < s.order; });
    if (!row.due) {
      row.overtaken += std::uint32_t(started.end() - later);
    } else {
      const Reservation* r = reservation_of(job);
      for (; later != started.end(); ++later) {
        const Start& start = later->start;
        if (r == nullptr)
          row.overtaken += cluster_->jobs().work(job, platform.type_of(start.gpu, start.where)) >= Time{0};
        else if (r->gpu == start.gpu)
          row.overtaken += (platform.model(r->gpu).gpu->placement(r->where).mask &
                            platform.model(r->gpu).gpu->placement(start.where).mask) != 0;
      }
    }
    most_ = std::max(most_, row.overtaken);
  }
}

// No GPU that takes work has a slice for it now or in its target, though one could.
bool BoundedOvertaking::needs_reshape(JobId job) const {
  bool possible = false;
  for (std::size_t g = 0; g < cluster_->gpus().size(); ++g) {
    const GpuState& gpu = cluster_->gpus()[g];
    if (gpu.blocked) continue;
    const Platform::Model& model = cluster_->platform().model(GpuId(g));
    for (std::size_t p = 0; p < model.type_of_placement.size(); ++p) {
      if (cluster_->jobs().work(job, model.type_of_placement[p]) < Time{0}) continue;
      if (gpu.target.contains(PlacementId(p))) return false;
      possible |= schedulable(model.gpu->profile_of(PlacementId(p)));
    }
  }
  return possible;
}

void BoundedOvertaking::find_due() {
  due_.clear();
  const Time now = cluster_->now();
  for (JobId job = cluster_->first_unfinished(); job != kNoJob; job = cluster_->next_unfinished(job)) {
    if (!waits(job)) continue;
    Row& row = memory_.rows[index(job)];
    if (!row.due) {
      const bool patient = options_.patience == kNever || now - cluster_->jobs().job(job).submit < options_.patience;
      row.due = (options_.bound != kNoBound && row.overtaken >= options_.bound) ||
                (!patient && (row.overtaken > 0 || needs_reshape(job)));
    }
    if (row.due) due_.push_back(job);
  }
  std::sort(due_.begin(), due_.end(), [&](JobId a, JobId b) { return order(a) < order(b); });
}

void BoundedOvertaking::release_reservations() {
  std::erase_if(memory_.reservations,
                [&](const Reservation& r) { return r.job == kNoJob || !waits(r.job) || cluster_->gpu(r.gpu).blocked; });
}

void BoundedOvertaking::note_wanted_layouts(const Plan& plan) {
  target_.resize(cluster_->gpus().size());
  for (std::size_t g = 0; g < target_.size(); ++g) target_[g] = cluster_->gpus()[g].target;
  for (const Reshape& reshape : plan.reshapes) {
    if (index(reshape.gpu) >= target_.size() || cluster_->gpu(reshape.gpu).blocked) continue;
    // A policy with fixed shapes repeats its request while the GPU drains; a repetition changes nothing.
    Layout& before = memory_.wanted[index(reshape.gpu)];
    const GpuModel& model = *cluster_->platform().model(reshape.gpu).gpu;
    const bool again = reservation_on(reshape.gpu) && shape_of(model, reshape.to) == shape_of(model, before);
    before = reshape.to;
    if (!again) target_[index(reshape.gpu)] = reshape.to;
  }
}

// The plan's starts of jobs that arrived before `job` keep their slices.
bool BoundedOvertaking::keeps_slice(const Start& start, JobId job) const { return order(start.job) < order(job); }

// Whether the GPU can be made to hold `where` without taking the slice of such a start.
bool BoundedOvertaking::spares_starts(JobId job, GpuId gpu, PlacementId where, const Plan& plan) const {
  if (!started_[index(gpu)]) return true;
  Layout target;
  for (const Start& start : plan.starts) {
    if (start.gpu != gpu || !keeps_slice(start, job)) continue;
    if (target.empty()) target = target_with(gpu, where);
    if (start.where == where || !target.contains(start.where)) return false;
  }
  return true;
}

Time BoundedOvertaking::idle_from(JobId job, GpuId gpu, PlacementId slice, const Plan& plan) const {
  const Time now = cluster_->now();
  const JobId occupant = cluster_->gpu(gpu).job_at[index(slice)];
  if (occupant != kNoJob) return std::max(now, cluster_->state(occupant).finish);
  if (!started_[index(gpu)]) return now;
  for (const Start& start : plan.starts)
    if (start.gpu == gpu && start.where == slice && keeps_slice(start, job))
      return cluster_->finish_on(start.job, cluster_->platform().type_of(gpu, slice));
  return now;
}

bool BoundedOvertaking::available(JobId job, GpuId gpu, PlacementId where, const Plan& plan) const {
  const GpuState& state = cluster_->gpu(gpu);
  return state.layout.contains(where) && !state.busy.contains(where) &&
         idle_from(job, gpu, where, plan) == cluster_->now();
}

// kNever: it cannot happen.
Time BoundedOvertaking::start_estimate(JobId job, GpuId gpu, PlacementId where, const Plan& plan) const {
  const GpuState& state = cluster_->gpu(gpu);
  const GpuModel& model = *cluster_->platform().model(gpu).gpu;
  if (state.layout.contains(where)) return idle_from(job, gpu, where, plan);
  Layout kept = state.layout;
  Time ready = cluster_->now(), operations{0};
  const auto remove = [&](Time idle, PlacementId slice) {
    kept = kept.without(slice);
    ready = std::max(ready, idle);
    operations += reconfig_time(model, model.placement(slice).profile).destroy;
  };
  for (const PlacementId slice : state.layout) {
    if (model.placement(slice).mask & model.placement(where).mask) remove(idle_from(job, gpu, slice, plan), slice);
  }
  if (!model.fits(kept, where)) {  // limits on the number of instances may require more than the room
    std::vector<std::pair<Time, PlacementId>> others;
    for (const PlacementId slice : kept) others.emplace_back(idle_from(job, gpu, slice, plan), slice);
    std::sort(others.begin(), others.end());
    for (std::size_t i = 0; i < others.size() && !model.fits(kept, where); ++i)
      remove(others[i].first, others[i].second);
    if (!model.fits(kept, where)) return kNever;
  }
  operations += reconfig_time(model, model.placement(where).profile).create;
  return ready + cluster_->cost().reshape.value_or(operations);
}

bool BoundedOvertaking::untouched(GpuId gpu) const {
  return cluster_->gpu(gpu).busy.empty() && !started_[index(gpu)] && !reserved_[index(gpu)];
}

void BoundedOvertaking::note_places(const Plan& plan) {
  started_.assign(cluster_->gpus().size(), 0);
  reserved_.assign(cluster_->gpus().size(), 0);
  for (const Start& start : plan.starts)
    if (index(start.gpu) < started_.size()) started_[index(start.gpu)] = 1;
  for (const Reservation& r : memory_.reservations) reserved_[index(r.gpu)] = 1;
}

// job kNoJob: there is no place for it now.
BoundedOvertaking::Reservation BoundedOvertaking::soonest(JobId job, const Plan& plan) const {
  Reservation best;
  Time best_start = kNever, best_finish = kNever;
  std::set<std::pair<const GpuModel*, std::uint32_t>>
      idle;  // layouts of unused GPUs: one GPU represents all with the same layout
  for (std::size_t g = 0; g < cluster_->gpus().size(); ++g) {
    const GpuState& gpu = cluster_->gpus()[g];
    if (gpu.blocked) continue;
    if (untouched(GpuId(g)) && !idle.emplace(cluster_->platform().model(GpuId(g)).gpu.get(), gpu.layout.bits()).second)
      continue;
    const Reservation* other = reserved_[g] ? reservation_on(GpuId(g)) : nullptr;
    if (other && other->job == job) other = nullptr;
    const Platform::Model& model = cluster_->platform().model(GpuId(g));
    for (std::size_t p = 0; p < model.gpu->placements().size(); ++p) {
      const PlacementId where{std::uint8_t(p)};
      const TypeId type = model.type_of_placement[p];
      if (!schedulable(model.gpu->profile_of(where)) || cluster_->jobs().work(job, type) < Time{0}) continue;
      if (!spares_starts(job, GpuId(g), where, plan)) continue;
      const Time start = start_estimate(job, GpuId(g), where, plan);
      // Next to another's reservation, use only what exists and is free.
      if (other && (other->where == where || !target_[g].contains(where) || !available(job, GpuId(g), where, plan)))
        continue;
      if (start == kNever || start > best_start) continue;
      const Time finish = start + (cluster_->finish_on(job, type) - cluster_->now());
      if (start == best_start && finish >= best_finish) continue;
      best = {job, GpuId(g), where, start};
      best_start = start;
      best_finish = finish;
    }
  }
  return best;
}

Layout BoundedOvertaking::target_with(GpuId id, PlacementId where) const {
  const Layout wanted = target_[index(id)];
  if (wanted.contains(where)) return wanted;
  const GpuState& gpu = cluster_->gpu(id);
  const GpuModel& model = *cluster_->platform().model(id).gpu;
  Layout target = *model.with(Layout{}, where);
  const auto add = [&](Layout more) {
    for (const PlacementId p : more)
      if (const auto next = model.with(target, p)) target = *next;
  };
  add(wanted);
  add(gpu.busy);
  add(gpu.layout);
  // The rest of the GPU should not be idle: add the largest plain slices that fit.
  std::vector<PlacementId> plain;
  for (std::size_t p = 0; p < model.placements().size(); ++p)
    if (model.profile_of(PlacementId(p)).variant == Variant::kPlain) plain.push_back(PlacementId(p));
  std::stable_sort(plain.begin(), plain.end(), [&](PlacementId a, PlacementId b) {
    return model.profile_of(a).compute_slices > model.profile_of(b).compute_slices;
  });
  for (const PlacementId p : plain)
    if (const auto next = model.with(target, p)) target = *next;
  return target;
}

void BoundedOvertaking::hold(GpuId gpu, PlacementId where, JobId job, Plan& plan) {
  const Layout target = target_[index(gpu)] = target_with(gpu, where);
  std::erase_if(plan.starts, [&](const Start& start) {
    return start.gpu == gpu && start.job != job && (start.where == where || !target.contains(start.where));
  });
}

void BoundedOvertaking::serve(JobId job, Plan& plan) {
  if (std::any_of(plan.starts.begin(), plan.starts.end(), [&](const Start& s) { return s.job == job; })) return;
  const Reservation best = soonest(job, plan);
  const auto mine = std::find_if(memory_.reservations.begin(), memory_.reservations.end(),
                                 [&](const auto& r) { return r.job == job; });
  Reservation place = best;
  if (mine != memory_.reservations.end()) {
    const Time expected = start_estimate(job, mine->gpu, mine->where, plan);
    const bool move = best.start < expected && expected > mine->start + kSlip;
    if (!(best.job == job && available(job, best.gpu, best.where, plan)) && !move)
      place = {job, mine->gpu, mine->where, mine->start};
  }
  if (place.job == kNoJob) return;
  if (available(job, place.gpu, place.where, plan)) {
    hold(place.gpu, place.where, job, plan);
    plan.starts.push_back({job, place.gpu, place.where});
    started_[index(place.gpu)] = 1;
    // Keep the reservation until the job runs: a cap or the gate may hold the start back.
    if (mine == memory_.reservations.end() || (mine->gpu != place.gpu && reservation_on(place.gpu))) return;
  }
  reserved_[index(place.gpu)] = 1;
  if (mine == memory_.reservations.end()) {
    ++drains_;
    memory_.reservations.push_back(place);
  } else {
    *mine = place;
  }
}

void BoundedOvertaking::write_reshapes(Plan& plan) const {
  plan.reshapes.clear();
  for (std::size_t g = 0; g < target_.size(); ++g)
    if (target_[g] != cluster_->gpus()[g].target) plan.reshapes.push_back({GpuId(g), target_[g]});
}

// If a start is held back, its stop would remain: stop nobody while a job is due.
void BoundedOvertaking::leave_out_stops(Plan& plan) const {
  if (plan.stops.empty()) return;
  std::erase_if(plan.starts, [&](const Start& s) {
    return std::find(plan.stops.begin(), plan.stops.end(), s.job) != plan.stops.end() ||
           cluster_->gpu(s.gpu).busy.contains(s.where);
  });
  std::erase_if(plan.reshapes, [&](const Reshape& r) { return !(cluster_->gpu(r.gpu).busy - r.to).empty(); });
  plan.stops.clear();
}

void BoundedOvertaking::decide(const Cluster& cluster, Plan& plan) {
  inner_->decide(cluster, plan);
  if (cluster.cost().free()) return;
  cluster_ = &cluster;
  if (identity_ != cluster.identity()) see_new_cluster();
  for (const Event& event : cluster.news())
    if (event.kind == EventKind::kSubmitted)
      if (const std::uint64_t name = name_hash(event.job); memory_.rows[index(event.job)].name != name)
        memory_.rows[index(event.job)] = first_row(name);
  memory_.last_now = cluster.now();
  count_starts();
  find_due();
  release_reservations();
  if (!due_.empty()) leave_out_stops(plan);
  note_wanted_layouts(plan);
  if (!due_.empty()) {
    std::erase_if(plan.starts, [&](const Start& s) { return index(s.job) >= memory_.rows.size(); });
    note_places(plan);
    for (const Reservation& r : memory_.reservations) hold(r.gpu, r.where, r.job, plan);
    for (const JobId job : due_) {
      serve(job, plan);
      if (const Reservation* r = reservation_of(job)) hold(r->gpu, r->where, job, plan);
    }
    std::stable_partition(plan.starts.begin(), plan.starts.end(),
                          [&](const Start& start) { return memory_.rows[index(start.job)].due; });
    std::sort(memory_.reservations.begin(), memory_.reservations.end(),
              [&](const Reservation& a, const Reservation& b) { return order(a.job) < order(b.job); });
    write_reshapes(plan);
  }
  // The inner policy may not have noticed yet that its slices are gone.
  if (drains_ > 0)
    std::erase_if(plan.starts, [&](const Start& s) {
      return index(s.gpu) < target_.size() && index(s.where) < 32 && !target_[index(s.gpu)].contains(s.where);
    });
  for (const Start& start : plan.starts)
    if (index(start.job) < memory_.rows.size())
      memory_.asked.push_back({start, order(start.job), memory_.rows[index(start.job)].name});
  cluster_ = nullptr;
}

}  // namespace smartmig
