#include "memory/work_projection.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"

namespace smartmig {
namespace {

constexpr double kMostContextMib = 512, kLeastDeviationMib = 8, kPastSpread = 0.25, kStageSpread = 0.02,
                 kToldWithin = 0.25, kWideOfTold = 0.33, kWideOfPast = 0.05, kFarOff = 1.1, kLogWhole = 0.125,
                 kReserved = 0.7, kPeakWithin = 0.05, kGrowthWithin = 0.2, kGrowthAsTold = 0.08, kNear = 0.7,
                 kRisesTo = 0.7, kSizeWithin = 0.05;
constexpr double kRoom = 0.97, kRoomEdge = 0.02;  // share of the room left by the context: fragments take the rest
constexpr int kWholes = 24, kFewestToEnd = 30, kBeginsAnew = 2,
              kFewestByProgress = 4;  // rises needed where memory follows progress alone

double tail(double z) { return 1 / (1 + deterministic_exp(1.702 * std::clamp(z, -30.0, 30.0))); }
double quantile_of_tail(double p) { return deterministic_log(1 / p - 1) / 1.702; }  // z such that tail(z) = p

template <class Value>
std::optional<double> median_of(const std::vector<PastWork>& runs, Value value) {
  std::vector<double> all;
  for (const PastWork& run : runs)
    if (value(run) > 0) all.push_back(value(run));
  if (all.empty()) return std::nullopt;
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

}  // namespace

void WorkProjection::set_allocator(AllocatorFamily family) {
  family_ = family;
  memory_.set_allocator(family);
  memory_time_.set_allocator(family);
}

void WorkProjection::remember(const PastWork& run) {
  if (past_.size() >= kMostPast) return;
  past_.push_back(run);
  held_.remember(run.held);
}

double WorkProjection::level(const WorkSample& s) const {
  if (s.held_peak_mib >= 0) return s.held_peak_mib + offset_;
  return s.held_mib >= 0 && family_ != AllocatorFamily::kPlain ? s.held_mib + offset_ : s.device_mib;
}

void WorkProjection::add(const WorkSample& sample) {
  WorkSample s = sample;
  if (!std::isfinite(s.at_s) || !std::isfinite(s.device_mib) || s.device_mib < 0 || s.at_s < 0) return;
  if (samples_ > 0 && s.at_s <= last_.at_s) return;
  begun_anew_ += s.done >= 0 && s.done < 0.5 * last_.done;
  if (begun_anew_ >= kBeginsAnew) s.done = -1, s.of = 0;  // progress of each epoch or document, not of the run
  if (samples_++ == 0) first_device_ = s.device_mib;
  moved_ |= std::abs(s.device_mib - first_device_) > 1;
  const bool asked = s.held_peak_mib >= 0, exact = asked || s.held_mib >= 0;
  if (asked) {
    held_.add({s.at_s, s.held_peak_mib, s.done, s.of, s.part_done, s.part_of});
    if (offset_ >= 0) offset_ = std::clamp(s.device_mib - s.held_peak_mib, 0.0, offset_);
  }
  if (exact && offset_ < 0) {
    offset_ = std::clamp(s.device_mib - (asked ? s.held_peak_mib : s.held_mib), 0.0, kMostContextMib);
    if (family_ != AllocatorFamily::kPlain) {  // earlier device figures measure something else
      over_time_ = {};
      memory_time_ = {};
      memory_time_.set_allocator(family_);
    }
  }
  over_time_.add(s.at_s, level(s));
  memory_time_.add(s.at_s, level(s), exact, true);
  dips_ += level(s) < 0.97 * level_;
  level_ = level(s);
  const double size = s.size >= 0 ? s.size : s.done;  // without sizes, memory may follow progress
  if (size >= 0) {
    memory_.add(size, level(s), exact, s.size < 0 || s.size == s.done);
    const bool same_draw = s.done >= 0 && s.done == last_.done;
    if (sized_ == 0) {
      first_at_ = s.at_s;
      first_size_ = size;
    } else {
      steps_ += size != last_size_ || s.done != last_.done;
      falls_ += size < 0.97 * last_size_;
      within_ += same_draw && size > last_size_ && s.size != s.done;
      if (!same_draw && (s.done >= 0 || size < last_size_)) {  // the previous draw is finished
        const double l = deterministic_log(std::max(1.0, draw_));
        log_sum_ += l;
        log_squares_ += l * l;
        ++drawn_;
        draw_ = 0;
      }
    }
    draw_ = std::max(draw_, size);
    at_most_ = size > most_ ? 1 : at_most_ + (size == most_);
    ++sized_;
    if (size > most_ && stages_.size() < kMostStages)
      stages_.push_back({size, s.of > 0 && s.done >= 0 ? s.done / s.of : -1, s.at_s});
    most_ = std::max(most_, size);
    last_size_ = size;
  }
  last_ = s;
}

bool WorkProjection::draws() const { return last_.size >= 0 && (within_ > 2 || (falls_ > 2 && 20 * falls_ > sized_)); }

// The length of the whole run, in units of what is done, given that the run goes on. Told times are right within a
// quarter two times in three, else within a factor of three. Without any, a run that got so far ends before x times
// that with probability 1 - 1/x.
std::vector<WorkProjection::Whole> WorkProjection::wholes(double expected_total_s) const {
  if (last_.of > 0 && last_.done > 0) return {{std::max(1.005, last_.of / last_.done), 1}};
  double middle = 0, wide = 0;
  if (const auto done = median_of(past_, [](const PastWork& p) { return p.end_done; }); done && last_.done > 0)
    middle = *done / last_.done, wide = kWideOfPast;
  else if (const auto time = median_of(past_, [](const PastWork& p) { return p.duration_s; }))
    middle = *time / last_.at_s, wide = kWideOfPast;
  else if (expected_total_s > 0)
    middle = expected_total_s / last_.at_s, wide = kWideOfTold;
  const double centre = middle > 0 ? deterministic_log(middle) : 0;
  std::vector<Whole> out;
  double sum = 0;
  for (int i = 0; i < kWholes; ++i) {
    const double x = (i + 0.5) * kLogWhole, off = (x - centre) / kToldWithin;
    double density = 0.02 * deterministic_exp(-x);
    if (middle > 0)
      density += (1 - wide) * deterministic_exp(-0.5 * off * off) / (2.5 * kToldWithin) +
                 (std::abs(x - centre) < kFarOff ? wide / (2 * kFarOff) : 0);
    out.push_back({deterministic_exp(x), density});
    sum += density;
  }
  for (Whole& w : out) w.weight /= sum;
  return out;
}

// Stages of equal length. Their number follows from the length of one; each is larger by the same amount or factor.
void WorkProjection::stage_ends(const Whole& whole, std::vector<End>& out) const {
  const std::size_t k = stages_.size();
  if (k < 2) return;
  const auto share_at = [&](const Stage& s) { return s.share >= 0 ? s.share : s.at_s / last_.at_s / whole.times; };
  const double width = share_at(stages_[k - 1]) / double(k - 1);
  if (width <= 0) return;
  const double more = std::max(0.0, std::floor((1 - share_at(stages_[k - 1])) / width - 0.35));
  double by_sum = 0, by_factor = 0;
  const double step = (stages_[k - 1].size - stages_[0].size) / double(k - 1);
  const double factor =
      deterministic_exp(deterministic_log(stages_[k - 1].size / std::max(1.0, stages_[0].size)) / double(k - 1));
  double expected_product = std::max(1.0, stages_[0].size);
  for (std::size_t i = 1; i < k; ++i) {
    expected_product *= factor;
    by_sum += std::abs(stages_[i].size - stages_[0].size - step * double(i)) / stages_[k - 1].size;
    by_factor += std::abs(stages_[i].size - expected_product) / stages_[k - 1].size;
  }
  const double doubt = 0.02 * double(k), sum_weight = (by_factor + doubt) / (by_sum + by_factor + 2 * doubt);
  const double sum_end = stages_[k - 1].size + more * step;
  const double factor_end = stages_[k - 1].size * deterministic_exp(std::min(more, 30.0) * deterministic_log(factor));
  out.push_back({sum_end, kStageSpread, whole.weight * sum_weight});
  out.push_back({factor_end, kStageSpread, whole.weight * (1 - sum_weight)});
}

std::vector<WorkProjection::End> WorkProjection::ends(double expected_total_s) const {
  std::vector<End> out;
  const bool sized = last_.size >= 0;
  if (sized && last_.size_max > 0) return {{std::max(most_, last_.size_max), 0.02, 1}};
  if (!sized && last_.of > 0) return {{std::max(most_, last_.of), 0.02, 1}};
  const bool told = last_.of > 0 && last_.done > 0;
  if (const auto end = median_of(past_, [&](const PastWork& p) { return sized ? p.end_size : p.end_done; });
      end && (!told || stages_.size() < 3))
    return {{std::max(most_, *end), sized && last_.size != last_.done ? 0.08 : kPastSpread, 1}};
  const bool staged = stages_.size() < kMostStages && stages_.size() * 3 <= std::size_t(sized_);
  for (const Whole& whole : wholes(expected_total_s)) {
    if (staged)
      stage_ends(whole, out);
    else if (last_.at_s > first_at_)
      out.push_back({most_ + (most_ - first_size_) / (last_.at_s - first_at_) * last_.at_s * (whole.times - 1), 0.02,
                     whole.weight});
  }
  return out;
}

std::vector<SizeMemory::Curve> WorkProjection::believed_curves() const {
  if (last_.size < 0 && dips_ > 2 && family_ != AllocatorFamily::kCaching) return {};  // progress does not drive it
  if (family_ == AllocatorFamily::kReserved && (last_.held_mib < 0 && last_.held_peak_mib < 0)) return {};
  std::vector<SizeMemory::Curve> own = memory_.curves();
  if (last_.size >= 0 && own.size() == 1 && own[0].points >= 4 && !own[0].overdue) return own;
  for (const PastWork& p : past_) {
    if (p.fixed || p.by_size.points < 2 || (p.end_size >= 0) != (last_.size >= 0)) continue;
    const double here = p.by_size.at(most_);
    if (memory_.highest() < 0.93 * here - kLeastDeviationMib) continue;  // it held more at this size: other input
    SizeMemory::Curve curve = p.by_size;
    curve.weight = 1;
    curve.miss = std::max(curve.miss, 0.02 * here);
    curve.points = std::max(curve.points, 4);
    return {curve};
  }
  for (const SizeMemory::Curve& curve : own)
    if (curve.points < (last_.size < 0 ? kFewestByProgress : 2) || curve.overdue) return {};
  return own;
}

double WorkProjection::limit_for(double limit_mib) const {
  const bool reserved =
      !moved_ && (last_.held_mib >= 0 || last_.held_peak_mib >= 0) && first_device_ > kReserved * limit_mib;
  return reserved ? std::min(limit_mib, first_device_) : limit_mib;
}

std::optional<WorkProjection::Outlook> WorkProjection::by_size(double limit_mib, double expected_total_s) const {
  const std::vector<SizeMemory::Curve> curves = believed_curves();
  const std::vector<End> all = ends(expected_total_s);
  if (all.empty() || curves.empty()) return std::nullopt;
  Outlook out;
  const double rate = last_.at_s > first_at_ ? (most_ - first_size_) / (last_.at_s - first_at_) : 0;
  for (const SizeMemory::Curve& curve : curves) {
    const double now = curve.at(most_), span = std::max(1e-9, curve.to - curve.from);
    const double doubt = curve.points < 3 ? 0.2 : curve.points < 5 ? 0.1 : 0.04;
    const double there = curve.size_at(limit_mib) - most_;
    const double after = rate > 0 && std::isfinite(there) ? std::max(0.0, there) / rate : last_.at_s;
    for (const End& end : all) {
      const double mean = curve.at(end.size), growth = std::max(0.0, mean - now);
      const double off = std::max(kLeastDeviationMib, curve.miss * (1 + std::max(0.0, end.size - curve.to) / span)) +
                         (doubt + end.spread) * growth;
      const double p = curve.weight * end.weight * tail((limit_mib - mean) / off);
      out.passing.probability += p;
      out.passing.after_s += p * after;
      out.needs_mib += p * (mean + off);
    }
  }
  out.passing.after_s /= std::max(1e-9, out.passing.probability);
  out.needs_mib /= std::max(1e-9, out.passing.probability);
  double now = 0, first = 0;
  for (const SizeMemory::Curve& curve : curves) {
    now += curve.weight * curve.at(most_);
    first += curve.weight * curve.at(first_size_);
  }
  out.way = (now - first) / std::max(1.0, limit_mib - first);
  return out;
}

std::optional<WorkProjection::Outlook> WorkProjection::by_draws(double limit_mib, double expected_total_s) const {
  const std::vector<SizeMemory::Curve> curves = believed_curves();
  if (curves.empty() || drawn_ < 5) return std::nullopt;
  const std::vector<Whole> all = wholes(expected_total_s);
  const double n = drawn_, mean = log_sum_ / n;
  const double sd = std::max(0.02, std::sqrt(std::max(0.0, log_squares_ / n - mean * mean)));
  const double pace = n / std::max(1e-9, last_.at_s - first_at_);
  double left = 0;  // the mean number of draws left, for what it needs
  for (const Whole& w : all) left += w.weight * std::max(1.0, n * (w.times - 1));
  const double cap = last_.size_max > 0 ? last_.size_max : at_most_ > kCapSeen && last_.done >= 0 ? most_ : 0;
  double longest = deterministic_exp(mean + sd * quantile_of_tail(std::min(0.4, 0.3 / left)));
  if (cap > 0) longest = std::min(longest, cap);
  Outlook out;
  for (const SizeMemory::Curve& curve : curves) {
    const double off = std::max(kLeastDeviationMib, curve.miss) + 0.03 * std::abs(limit_mib - curve.at(most_));
    for (const auto& [z, weight] : {std::pair{-1.2, 0.25}, {0.0, 0.5}, {1.2, 0.25}}) {
      const double size = std::max(curve.size_at(limit_mib + z * off), most_ * 1.001);
      if (!std::isfinite(size) || (cap > 0 && size > cap)) continue;
      const double each = std::min(0.999, tail((deterministic_log(std::max(1.0, size)) - mean) / sd));
      double p = 0;
      for (const Whole& w : all)
        p += w.weight * (1 - deterministic_exp(std::max(1.0, n * (w.times - 1)) * deterministic_log(1 - each)));
      double runs = 1;
      for (const PastWork& past : past_)
        if (past.end_size >= 0) p += past.end_size >= size, ++runs;
      p *= curve.weight * weight / runs;
      out.passing.probability += p;
      out.passing.after_s += p / (each * pace);
      out.needs_mib += p * (std::max(curve.at(std::max(longest, most_)), limit_mib) + off);
    }
  }
  out.passing.after_s /= std::max(1e-9, out.passing.probability);
  out.needs_mib /= std::max(1e-9, out.passing.probability);
  return out;
}

std::optional<WorkProjection::Outlook> WorkProjection::by_held(double limit_mib, double expected_total_s) const {
  const double room = limit_mib - offset_;
  const auto found = held_.forecast({kRoom * room, kRoomEdge * room}, wholes(expected_total_s));
  Outlook out;
  if (!found) return out;
  out.passing = {found->probability, found->after};
  out.asked = true;
  out.needs_mib = found->needs_mib / kRoom + offset_;
  return out;
}

// From what earlier runs reached, if this one says too little; scaled up if more work is announced.
std::optional<WorkProjection::Outlook> WorkProjection::by_peaks(double limit_mib) const {
  Outlook out;
  double runs = 0;
  for (const PastWork& p : past_) {
    if (p.fixed || p.held_mib <= 0) continue;
    ++runs;
    const bool told = p.of > 0 && last_.of > 0 && p.last_rise_s > kRisesTo * p.duration_s;
    const double more = told ? std::clamp(last_.of / p.of, 0.25, 4.0) : 1;
    for (const double part : {0.1, 0.5, 0.9}) {
      const double peak = p.held_mib + part * (p.peak_mib - p.held_mib), growth = std::max(0.0, peak - first_device_);
      const double here = peak - growth + growth * more;
      const double off = kPeakWithin * here + (told ? kGrowthAsTold : kGrowthWithin) * growth * more;
      out.passing.probability += tail((limit_mib - here) / off) / 3;
      out.needs_mib = std::max(out.needs_mib, here + off);
    }
  }
  if (runs == 0 || memory_time_.highest() > out.needs_mib) return std::nullopt;
  out.passing.probability /= runs;
  const auto total = median_of(past_, [](const PastWork& p) { return p.duration_s; });
  out.passing.after_s = std::max(0.0, total.value_or(0) / 2 - last_.at_s);
  return out;
}

// If the size explains what is held, its own end is known better than that of a staircase.
bool WorkProjection::sizes_tell() const {
  if (!past_.empty() || last_.size < 0 || sized_ < kFewest || steps_ < kFewestSteps) return false;
  const std::vector<SizeMemory::Curve> curves = memory_.curves();
  const SizeMemory::Curve& c = curves[0];
  return curves.size() == 1 && c.points >= 3 && c.b > 0 && c.miss < kSizeWithin * (c.at(c.to) - c.at(c.from));
}

std::optional<WorkProjection::Outlook> WorkProjection::outlook(double limit_mib, double expected_total_s) const {
  std::optional<Outlook> out;
  if (last_.held_peak_mib >= 0 && !sizes_tell()) return by_held(limit_mib, expected_total_s);
  if (sized_ >= kFewest && (last_.done < 0 || steps_ >= kFewestSteps) && last_.done + last_.size >= 0)
    out = draws() ? by_draws(limit_mib, expected_total_s) : by_size(limit_mib, expected_total_s);
  if (out) return out;
  if (last_.held_peak_mib >= 0) return by_held(limit_mib, expected_total_s);
  out = by_peaks(limit_mib);
  if (!out || memory_time_.highest() < kNear * limit_mib || samples_ < kFewestToEnd) return out;
  const MemoryForecast forecast =
      over_time_.forecast(total_s(expected_total_s));  // near the limit, its growth tells more
  if (const Passing passing = forecast.passing(limit_mib); passing.probability > out->passing.probability)
    out->passing = passing, out->needs_mib = std::max(out->needs_mib, limit_mib * 1.02);
  return out;
}

double WorkProjection::total_s(double expected_total_s) const {
  if (last_.of > 0 && last_.done > 0) return last_.at_s * std::max(1.0, last_.of / last_.done);
  if (const auto done = median_of(past_, [](const PastWork& p) { return p.end_done; }); done && last_.done > 0)
    return last_.at_s * *done / last_.done;
  return median_of(past_, [](const PastWork& p) { return p.duration_s; }).value_or(expected_total_s);
}

RestartVerdict WorkProjection::verdict(double limit_mib, double expected_total_s, const RestartCosts& costs) {
  const double limit = limit_for(limit_mib);
  const auto found = outlook(limit, expected_total_s);
  if (!found) {
    RestartVerdict by_time = over_time_.forecast(total_s(expected_total_s)).weigh(limit, costs);
    by_time.cost_go_on_s *= 1 + kToll;
    const bool hidden = (last_.held_mib < 0 && last_.held_peak_mib < 0) && family_ != AllocatorFamily::kUnknown &&
                        family_ != AllocatorFamily::kPlain;
    const bool silent = sized_ == 0 && past_.empty();  // no further evidence will come: it is as certain as it gets
    const double sure = silent ? kSureOfSilent : hidden ? kSureOfCache : kSureOverTime;
    const bool better = by_time.cost_now_s < by_time.cost_go_on_s && by_time.passing.probability >= sure &&
                        over_time_.samples() >= MemoryProjection::kFewest &&
                        (family_ != AllocatorFamily::kReserved || (last_.held_mib >= 0 || last_.held_peak_mib >= 0));
    in_a_row_ = better ? in_a_row_ + 1 : 0;
    by_time.restart = in_a_row_ >= MemoryProjection::kAgain;
    if (by_time.restart) by_time.needs_mib = over_time_.forecast(total_s(expected_total_s)).quantile(0.9);
    return by_time;
  }
  RestartVerdict out;
  out.passing = found->passing;
  out.cost_now_s = costs.restart_s + costs.lost_if_restarted;
  out.cost_go_on_s = out.passing.probability * (1 + (found->asked ? kTollAsked : kToll)) *
                     (costs.restart_s + costs.lost_if_failed + std::min(out.passing.after_s, kPatience * last_.at_s));
  const double sure = found->asked ? kSure
                      : draws()    ? kSureOfDraws
                                   : kSure + (kSureAtFirst - kSure) * std::max(0.0, 1 - found->way / kWay);
  const bool better = out.passing.probability >= sure && out.cost_now_s < out.cost_go_on_s;
  in_a_row_ = better ? in_a_row_ + 1 : 0;
  out.restart = in_a_row_ >= (found->asked ? kAgainAsked : kAgain);
  out.needs_mib = out.restart ? found->needs_mib * limit_mib / limit : 0;
  return out;
}

double WorkProjection::needs(double limit_mib, double expected_total_s) const {
  const double limit = limit_for(limit_mib);
  if (const auto found = outlook(limit, expected_total_s)) return found->needs_mib * limit_mib / limit;
  return over_time_.forecast(total_s(expected_total_s)).quantile(0.5);
}

PastWork WorkProjection::to_past(double limit_mib) const {
  PastWork out;
  const double highest = memory_time_.highest();
  out.end_size = last_.size >= 0 ? most_ : -1;
  out.end_done = last_.done;
  out.duration_s = last_.at_s;
  out.of = last_.of;
  out.last_rise_s = memory_time_.last_rise();
  out.fixed = (last_.held_mib < 0 && last_.held_peak_mib < 0) &&
              (!moved_ || family_ == AllocatorFamily::kReserved ||
               (highest > kReserved * limit_mib && memory_time_.last_rise() < 0.2 * last_.at_s));
  for (const SizeMemory::Curve& curve : memory_.curves())
    if (curve.weight > 0.8 && !curve.overdue) out.by_size = curve;
  out.peak_mib = highest;
  if (held_.known()) out.held = held_.to_past();
  out.held_mib = memory_time_.surely_held();
  if (out.held_mib == 0 && last_.size >= 0 && out.by_size.points > 2 && out.by_size.b > 0)
    out.held_mib = out.peak_mib = std::min(highest, out.by_size.at(most_));
  return out;
}

}  // namespace smartmig
