#include "memory/held_work.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"

namespace smartmig {
namespace {

constexpr double kOtherInput = 0.25, kPastWithin = 0.03, kItself = 0.05, kLoading = 0.08, kFewAgree = 0.02;
constexpr double kAgrees = 0.04, kAgreesByTime = 0.15;  // another input may take the same time for more work

}  // namespace

double HeldRun::held_at(double share) const {
  const auto after = std::upper_bound(rises.begin(), rises.end(), share,
                                      [](double s, const HeldProjection::Rise& r) { return s < r.work; });
  const double held = after == rises.begin() ? rises.front().held : std::prev(after)->held;
  if (share <= 1) return held;
  const double slope = 2 * (peak_mib() - held_at(0.5));
  const bool rose_to_the_end = rises.back().work > 0.8;
  return held + (rose_to_the_end ? slope * (share - 1) : 0);
}

void HeldWork::remember(const HeldRun& run) {
  if (run.rises.empty() || !(run.duration_s > 0)) return;
  for (const HeldRun& other : past_) {
    if (run.whole() <= 0 || other.whole() <= 0) continue;
    const double by_count = other.held_at(run.whole() / other.whole()) / run.peak_mib() - 1;
    const double by_share = other.peak_mib() / run.peak_mib() - 1;
    const double odds = counts_ / (1 - counts_) *
                        deterministic_exp(std::clamp(
                            0.5 * (by_share * by_share - by_count * by_count) / (kAgrees * kAgrees), -3.0, 3.0));
    counts_ = odds / (1 + odds);
  }
  past_.push_back(run);
}

void HeldWork::add(const Sample& s) {
  ++samples_;
  by_time_.add(s.at_s, s.held_mib);
  if (s.done > 0) {
    steps_ += s.done != last_.done;
    by_work_.add(s.done, s.held_mib);
  }
  if (s.part_of > 0) {
    if (s.part_of != last_.part_of || s.part_done < last_.part_done || s.done != last_.done) by_part_ = {};
    if (by_part_.empty()) by_part_.add(0, last_.held_mib);
    by_part_.add(s.part_done, s.held_mib);
  } else {
    by_part_ = {};
  }
  last_ = s;
}

std::optional<HeldForecast> HeldWork::by_itself(const HeldRoom& room, const std::vector<RunWhole>& wholes) const {
  if (samples_ < kFewest) return std::nullopt;
  const bool by_work = last_.done > 0;
  std::optional<HeldForecast> out;
  if (!by_work || steps_ >= kFewestSteps) {
    const HeldProjection& held = by_work ? by_work_ : by_time_;
    const std::vector<HeldProjection::Way> ways = held.ways();
    const double pace = std::max(1e-9, held.work() / std::max(1e-9, last_.at_s));
    out.emplace();
    for (const RunWhole& whole : wholes) {
      HeldForecast one = held.forecast(ways, room, held.work() * whole.times);
      one.after /= pace;
      out->add(whole.weight, one);
    }
    out->divide(1);
  }
  if (by_part_.empty()) return out;
  const HeldForecast pass = by_part_.within_pass(room, last_.part_of);
  return out && out->probability > pass.probability ? out : pass;
}

HeldForecast HeldWork::by_past(const HeldRun& run, const HeldRoom& room, double& agrees) const {
  HeldForecast out;
  agrees = 0;
  const bool counted = last_.done > 0;
  const double by_count = counted && run.end_done > 0 ? last_.done / run.end_done : last_.at_s / run.duration_s;
  const double times = last_.of > 0 && run.whole() > 0 ? last_.of / run.whole() : -1;  // by the announced work
  const auto ask = [&](double share, double end, double weight) {
    const double held_then = run.held_at(std::min(share, end)), off_now = last_.held_mib - held_then;
    const double there = std::max(run.held_at(end), last_.held_mib);
    const double z = share < kLoading ? 0 : off_now / ((counted ? kAgrees : kAgreesByTime) * held_then);
    const double w = weight * deterministic_exp(-0.5 * std::min(z * z, 50.0));
    const double off = kPastWithin * there + 0.5 * std::abs(off_now) * (z != 0);
    out.add(w, {room.passed_by(there, off), std::max(0.0, 0.5 * last_.at_s * (end / std::max(1e-6, share) - 1)),
                there + off});
    agrees += w;
  };
  if (times > 0) {
    ask(counted ? last_.done / last_.of : by_count / times, 1, 1 - counts_);
    ask(by_count, times, counts_);
  } else {
    for (const auto& [z, weight] : {std::pair{-1.2, 0.25}, {0.0, 0.5}, {1.2, 0.25}})
      ask(by_count, std::max(by_count, deterministic_exp(kOtherInput * z)), weight);
  }
  out.divide(agrees);
  return out;
}

std::optional<HeldForecast> HeldWork::forecast(const HeldRoom& room, const std::vector<RunWhole>& wholes) const {
  const std::optional<HeldForecast> itself = by_itself(room, wholes);
  if (past_.empty() || samples_ < 2) return itself;
  HeldForecast out;
  double sum = 0;
  for (const HeldRun& run : past_) {
    double agrees = 0;
    const HeldForecast one = by_past(run, room, agrees);
    out.add(agrees, one);
    sum += agrees;
  }
  if (itself) out.add(kItself, *itself), sum += kItself;
  if (sum < kFewAgree) return itself;
  out.divide(sum);
  return out;
}

HeldRun HeldWork::to_past() const {
  HeldRun out;
  out.duration_s = last_.at_s;
  const bool by_work = last_.done > 0;
  if (by_work) out.end_done = last_.done;
  out.of = last_.of;
  const std::vector<HeldProjection::Rise>& all = (by_work ? by_work_ : by_time_).rises();
  const double whole = std::max(1e-9, by_work ? last_.done : last_.at_s);
  const std::size_t step = all.size() / HeldRun::kMost + 1;
  for (std::size_t i = (all.size() - 1) % step; i < all.size(); i += step)
    out.rises.push_back({all[i].work / whole, all[i].held});
  return out;
}

}  // namespace smartmig
