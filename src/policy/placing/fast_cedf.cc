#include "policy/placing/fast_cedf.h"

#include <algorithm>
#include <cmath>

#include "policy/placing/placing_state.h"

namespace smartmig {
namespace {

constexpr std::uint64_t kSign = std::uint64_t(1) << 63;
constexpr std::int8_t kGone = -2;  // its slice disappears
// A change of the slice type rounds progress to a microsecond, so a finish on a third type may shift by a few.
constexpr Time kRoundingMargin{64};
// Below this, times on different types may round to the same value. It covers speeds that differ by a millionth.
constexpr Time kLastMoments{1'000'064};

Time deadline_of(unsigned __int128 key) { return Time(std::int64_t(std::uint64_t(key >> 32) ^ kSign)); }

}  // namespace

FastCedf::Key FastCedf::key_of(const Cluster& cluster, JobId job) const {
  const std::uint64_t deadline = std::uint64_t(cluster.jobs().job(job).deadline.count()) ^ kSign;  // signed order
  return Key(unsigned(classes_->of(cluster.jobs(), job))) << 96 | Key(deadline) << 32 | index(job);
}

std::size_t FastCedf::find(Key key) const {
  return std::size_t(
      std::lower_bound(scan_.begin(), scan_.end(), key, [](const Entry& e, Key k) { return e.key < k; }) -
      scan_.begin());
}

bool FastCedf::number_slices(const Cluster& cluster, const UsableSlices& usable) {
  types_.clear();
  slices_ = 0;
  std::vector<std::vector<PlacementId>> order;
  for (const Platform::Model& model : cluster.platform().models())
    order.push_back(placements_small_to_large(*model.gpu));
  std::vector<std::int32_t> local(cluster.platform().types().size(), -1);
  for (const std::uint32_t g : gpus_by_mean_size(cluster.platform(), usable.layout))
    for (const PlacementId p : order[std::size_t(cluster.platform().model_index(GpuId(g)))]) {
      if (!usable.layout[g].contains(p)) continue;
      const TypeId id = cluster.platform().type_of(GpuId(g), p);
      if (local[index(id)] < 0) {
        if (types_.size() == kMaxTypes) return false;
        local[index(id)] = std::int32_t(types_.size());
        types_.push_back({id, {}, {}, {}, {}, {}});
      }
      Type& type = types_[std::size_t(local[index(id)])];
      type.scan.push_back(std::uint32_t(slices_++));
      type.gpu.push_back(GpuId(g));
      type.where.push_back(p);
    }
  for (Type& type : types_) {
    type.holder.assign(type.gpu.size(), kNoJob);
    type.free_ranks.assign((type.gpu.size() + 63) / 64, ~std::uint64_t(0));
    type.scan.push_back(UINT32_MAX);
  }
  for (std::size_t t = 0; t < types_.size(); ++t) scan_of_[t] = types_[t].scan.data();
  return true;
}

void FastCedf::rebuild(const Cluster& cluster, const UsableSlices& usable, Plan& plan) {
  classes_.emplace(cluster.platform());
  scan_.clear();
  waiting_.clear();
  totals_ = {};
  next_recheck_ = kNever;
  if (!cluster.platform().power_by_slices_only() || cluster.jobs().has_crowding() || !number_slices(cluster, usable)) {
    if (!other_) other_.emplace(make_indexed_cedf_rule());
    return;
  }
  other_.reset();
  for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job)) {
    scan_.push_back(entry_of(key_of(cluster, job)));
    const JobState& state = cluster.state(job);
    if (state.phase == JobPhase::kRunning) scan_.back().held_type = kGone;  // unless the scan below finds its slice
  }
  std::sort(scan_.begin(), scan_.end(), [](const Entry& a, const Entry& b) { return a.key < b.key; });
  for (std::size_t t = 0; t < types_.size(); ++t)
    for (std::size_t rank = 0; rank < types_[t].gpu.size(); ++rank) {
      const JobId job = cluster.gpu(types_[t].gpu[rank]).job_at[index(types_[t].where[rank])];
      if (job == kNoJob) continue;
      Entry& entry = scan_[find(key_of(cluster, job))];
      entry.held_type = std::int8_t(t);
      entry.rank = std::int32_t(rank);
      types_[t].holder[rank] = job;
      types_[t].free_ranks[rank / 64] &= ~(std::uint64_t(1) << (rank % 64));
    }
  Counts everything{};  // so that every holder of a slice beyond the final totals moves
  for (std::size_t t = 0; t < types_.size(); ++t) everything[t] = std::uint32_t(types_[t].gpu.size());
  to_assign_.clear();
  pass(cluster, 0, SIZE_MAX, {}, plan);
  assign_slices(cluster, everything, plan);
}

// The position in the order from which turns may change, with the counts before it.
std::size_t FastCedf::take_news(const Cluster& cluster, Counts& counts) {
  std::size_t from = scan_.size();
  counts = totals_;
  for (const Event& event : cluster.news()) {
    if (event.job == kNoJob) continue;
    const Key key = key_of(cluster, event.job);
    const std::size_t at = find(key);
    if (event.kind == EventKind::kFinished) {
      SMARTMIG_CHECK(at < scan_.size() && scan_[at].key == key, "a job finished that was not placed");
      if (at <= from) {
        from = at;
        counts = scan_[at].before;
      }
      release_slice(scan_[at]);
      scan_.erase(scan_.begin() + std::ptrdiff_t(at));
    } else if (event.kind == EventKind::kSubmitted) {
      std::size_t taken = 0;
      for (const std::uint32_t count : totals_.of) taken += count;
      if (at == scan_.size() && (taken == slices_ || !waiting_.empty())) {
        waiting_.push_back(key);
        std::push_heap(waiting_.begin(), waiting_.end(), std::greater<>());
        continue;
      }
      if (at < from || at == scan_.size()) {
        from = std::min(from, at);
        if (at < scan_.size()) counts = scan_[at].before;
      }
      scan_.insert(scan_.begin() + std::ptrdiff_t(at), entry_of(key));
    }
  }
  return from;
}

void FastCedf::place(const Cluster& cluster, const UsableSlices& usable, Plan& plan) {
  SMARTMIG_CHECK(cluster.cost().free(), "FastCedf places under paper costs only");
  const bool anew = !ready_ || version_ != usable.version || cluster.decision() != expected_decision_ ||
                    cluster.last_plan_refused() || cluster.news().size() > 1;
  expected_decision_ = cluster.decision() + 1;
  version_ = usable.version;
  ready_ = true;
  if (anew) rebuild(cluster, usable, plan);
  if (other_) other_->place(cluster, usable, plan);
  if (anew || other_) return;

  Counts counts;
  std::size_t from = take_news(cluster, counts);
  std::size_t last = from;  // the last position with a known change
  if (cluster.now() >= next_recheck_) {
    next_recheck_ = kNever;
    for (std::size_t i = scan_.size(); i-- > 0;) {
      if (scan_[i].recheck > cluster.now()) {
        next_recheck_ = std::min(next_recheck_, scan_[i].recheck);
        continue;
      }
      last = std::max(last, i);
      if (i < from) {
        from = i;
        counts = scan_[i].before;
      }
    }
  }
  const Counts totals_before = totals_;
  to_assign_.clear();
  pass(cluster, from, last, counts, plan);
  if (!to_assign_.empty() || !(totals_before == totals_)) assign_slices(cluster, totals_before, plan);
}

void FastCedf::pass(const Cluster& cluster, std::size_t from, std::size_t last, Counts counts, Plan& plan) {
  const Time now = cluster.now();
  std::size_t taken = 0;
  for (const std::uint32_t count : counts.of) taken += count;
  for (std::size_t i = from;; ++i) {
    if (taken == slices_) {
      for (std::size_t k = i; k < scan_.size(); ++k) {
        take_slice_from(scan_[k], plan);
        waiting_.push_back(scan_[k].key);
        std::push_heap(waiting_.begin(), waiting_.end(), std::greater<>());
      }
      scan_.resize(std::min(i, scan_.size()), Entry{});
      break;
    }
    if (i == scan_.size()) {
      if (waiting_.empty()) break;
      std::pop_heap(waiting_.begin(), waiting_.end(), std::greater<>());
      scan_.push_back(entry_of(waiting_.back()));
      waiting_.pop_back();
    }
    Entry& entry = scan_[i];
    const bool placed = entry.type >= 0;
    if (placed && i > last && entry.before == counts) return;  // then all later turns are unchanged, too
    entry.before = counts;
    if (!placed || entry.recheck <= now || choose(entry, counts) != entry.type) evaluate(cluster, entry, counts);
    next_recheck_ = std::min(next_recheck_, entry.recheck);
    if (entry.type >= 0) {
      ++counts[std::size_t(entry.type)];
      ++taken;
    }
    if (entry.type >= 0 && entry.type == entry.held_type) continue;
    take_slice_from(entry, plan);
    if (entry.type >= 0) to_assign_.push_back(i);
  }
  totals_ = counts;
}

// The first free slice of the types on time; if there is none, that of the fastest remaining type.
int FastCedf::choose(const Entry& entry, const Counts& counts) const {
  std::uint32_t first = UINT32_MAX;
  int best = -1;
  const auto consider = [&](std::size_t i) {
    const std::size_t t = entry.by_work[i] & kTypeMask;
    const std::uint32_t scan = scan_of_[t][counts[t]];
    if (scan < first) {
      first = scan;
      best = int(t);
    }
  };
  for (std::size_t i = 0; i < entry.on_time; ++i) consider(i);
  for (std::size_t i = entry.on_time; i < entry.runs && best < 0; ++i) {
    consider(i);
    if (best >= 0)
      while (++i < entry.runs && (entry.by_work[i] & kEqual)) consider(i);
  }
  return best;
}

void FastCedf::sort_types(Entry& entry, std::span<const Time> work) const {
  const auto work_of = [&](std::uint8_t t) { return work[index(types_[t].id)]; };
  for (std::uint8_t t = 0; t < types_.size(); ++t) {
    if (work_of(t) < Time{0}) continue;
    std::size_t at = entry.runs++;
    for (; at > 0 && work_of(t) < work_of(entry.by_work[at - 1]); --at) entry.by_work[at] = entry.by_work[at - 1];
    entry.by_work[at] = t;
  }
  for (std::size_t i = entry.runs; i-- > 1;)
    if (work_of(entry.by_work[i]) == work_of(entry.by_work[i - 1])) entry.by_work[i] |= kEqual;
}

// Chooses from scratch, and notes until when the notes remain valid.
void FastCedf::evaluate(const Cluster& cluster, Entry& entry, const Counts& counts) const {
  const Time now = cluster.now(), deadline = deadline_of(entry.key);
  const std::span<const Time> work = cluster.jobs().work_row(entry.job());
  const JobState& state = cluster.state(entry.job());
  const bool fresh = state.type == kNoType;
  const Time left = fresh ? Time{0} : state.phase == JobPhase::kRunning ? state.finish - now : state.remaining;
  const Time whole = fresh ? Time{0} : work[index(state.type)];
  const auto work_at = [&](std::size_t i) { return work[index(types_[std::size_t(entry.by_work[i] & kTypeMask)].id)]; };
  const auto finish_on = [&](Time there) {  // the same arithmetic as Cluster::remaining_on
    if (fresh) return now + there;
    if (there == whole) return now + left;
    return whole == Time{0} ? now : now + rounded(double(left.count()) * double(there.count()) / double(whole.count()));
  };

  if (entry.runs == 0) sort_types(entry, work);
  Time last_in_time{};
  for (entry.on_time = 0; entry.on_time < entry.runs; ++entry.on_time) {
    if (entry.on_time > 0 && (entry.by_work[entry.on_time] & kEqual)) continue;
    const Time finish = finish_on(work_at(entry.on_time));
    if (finish > deadline) break;
    last_in_time = finish;
  }
  entry.recheck = kNever;
  entry.type = std::int8_t(choose(entry, counts));
  if (entry.type < 0) return;
  const Time own = work[index(types_[std::size_t(entry.type)].id)], end = finish_on(own);
  const bool late = end > deadline;
  if (late && end - now < kLastMoments) return choose_exactly(cluster, entry, counts);
  if (own == Time{0}) return;
  // While it runs on the chosen type with finish F, its finish at time tau on a type that takes r times as long is tau
  // + (F - tau) r. That meets the deadline d until tau = F - (d - F) / (r - 1). So for a job in time, the fastest late
  // type is the first to become on time; for a late job, the slowest type in time is the first to be lost.
  if (entry.on_time > 0 && deadline - last_in_time <= kRoundingMargin) entry.recheck = Time{0};
  if (late) entry.recheck = std::min(entry.recheck, end - kLastMoments);
  const std::size_t other =
      late ? std::size_t(entry.on_time) - 1 : entry.on_time;  // wraps around to "none" if nothing is in time
  if (other >= entry.runs) return;
  const double r = double(work_at(other).count()) / double(own.count());
  // Rounding to a microsecond shifts the decision by up to half of one, and tau by 1 / (r - 1) times that. Allow one.
  const double tau = double(end.count()) - double((deadline - end).count()) / (r - 1) - 1 / std::abs(r - 1);
  if (tau < double(end.count())) entry.recheck = std::min(entry.recheck, Time(std::int64_t(tau)) - kRoundingMargin);
}

// In a late job's last moments, its times on types of different speed round to the same value, and the first in scan
// order wins.
void FastCedf::choose_exactly(const Cluster& cluster, Entry& entry, const Counts& counts) const {
  Time earliest = kNever;
  std::uint32_t first = UINT32_MAX;
  for (std::size_t t = 0; t < types_.size(); ++t) {
    const Time finish = cluster.finish_on(entry.job(), types_[t].id);
    const std::uint32_t scan = types_[t].scan[counts[t]];
    if (scan != UINT32_MAX && (finish < earliest || (finish == earliest && scan < first && finish != kNever))) {
      earliest = finish;
      first = scan;
      entry.type = std::int8_t(t);
    }
  }
  entry.recheck = Time{0};
}

void FastCedf::release_slice(Entry& entry) {
  if (entry.held_type >= 0) {
    Type& type = types_[std::size_t(entry.held_type)];
    type.holder[std::size_t(entry.rank)] = kNoJob;
    type.free_ranks[std::size_t(entry.rank) / 64] |= std::uint64_t(1) << (entry.rank % 64);
  }
  entry.held_type = -1;
}

void FastCedf::take_slice_from(Entry& entry, Plan& plan) {
  if (entry.held_type == -1) return;
  release_slice(entry);
  plan.stops.push_back(entry.job());
}

// The slices in use are the first totals_[t] of each type. Jobs on later slices leave them. All jobs that need a slice
// get the first free ones of their type, in the order of choosing.
void FastCedf::assign_slices(const Cluster& cluster, const Counts& before, Plan& plan) {
  for (std::size_t t = 0; t < types_.size(); ++t)
    for (std::uint32_t rank = totals_[t]; rank < before[t]; ++rank) {
      if (types_[t].holder[rank] == kNoJob) continue;
      const std::size_t at = find(key_of(cluster, types_[t].holder[rank]));
      take_slice_from(scan_[at], plan);
      to_assign_.push_back(at);
    }
  std::sort(to_assign_.begin(), to_assign_.end());
  for (const std::size_t at : to_assign_) {
    Entry& entry = scan_[at];
    Type& type = types_[std::size_t(entry.type)];
    std::size_t word = 0;
    while (type.free_ranks[word] == 0) ++word;
    const std::size_t rank = word * 64 + std::size_t(std::countr_zero(type.free_ranks[word]));
    type.free_ranks[word] &= type.free_ranks[word] - 1;
    type.holder[rank] = entry.job();
    entry.rank = std::int32_t(rank);
    entry.held_type = entry.type;
    plan.starts.push_back({entry.job(), type.gpu[rank], type.where[rank]});
  }
}

}  // namespace smartmig
