#include "live/energy/energy_meter.h"

#include <algorithm>
#include <cmath>

#include "base/moved.h"

namespace smartmig {

const char* name_of(EnergySource source) {
  switch (source) {
    case EnergySource::kCounter:
      return "counter";
    case EnergySource::kPowerIntegral:
      return "power_integral";
    case EnergySource::kModel:
      return "model";
  }
  return "unknown";
}

void BoardMeter::started(std::uint64_t job, double weight, UnixTime at) {
  Run& run = runs_[job];
  run = {std::isfinite(weight) ? std::max(0.0, weight) : 0, at, {}};
}

void BoardMeter::ended(std::uint64_t job, UnixTime at) {
  const auto run = runs_.find(job);
  if (run != runs_.end() && !run->second.until) run->second.until = at;
}

void BoardMeter::forget_ended(UnixTime at) {
  std::erase_if(runs_, [&](const auto& entry) { return entry.second.until && *entry.second.until <= at; });
}

double BoardMeter::booked_without_counter(const EnergySample& sample, double dt, EnergySource& source) const {
  if (sample.power_w && power_) {
    source = EnergySource::kPowerIntegral;
    return (*sample.power_w + *power_) / 2 * dt;
  }
  source = EnergySource::kModel;
  return std::max(0.0, sample.model_w) * dt;
}

void BoardMeter::share_out(EnergyInterval& interval, UnixTime from, UnixTime to, bool attribute) {
  interval.idle_j = std::clamp(options_.idle_w * seconds(to - from), 0.0, std::max(0.0, interval.joules));
  const double active = interval.joules - interval.idle_j;
  double total = 0;
  for (const auto& [job, run] : runs_) {
    const UnixTime begin = std::max(from, run.since), end = std::min(to, run.until.value_or(to));
    const double part = end > begin ? run.weight * seconds(end - begin) : 0;
    if (part <= 0) continue;
    interval.jobs.emplace_back(job, part);
    total += part;
  }
  if (!attribute || total <= 0 || active <= 0) {
    interval.jobs.clear();
    interval.unattributed_j = active;
    return;
  }
  for (auto& [job, joules] : interval.jobs) joules = active * (joules / total);
}

EnergyInterval BoardMeter::sample(const EnergySample& sample) {
  EnergyInterval interval;
  const auto readable = [](const std::optional<double>& value) {
    return value && std::isfinite(*value) && *value >= 0 ? value : std::nullopt;
  };
  EnergySample now = sample;
  now.counter_j = readable(now.counter_j);
  now.power_w = readable(now.power_w);
  if (!std::isfinite(now.model_w)) now.model_w = 0;
  if (begun_ && now.at <= last_) return interval;  // a clock that stands or went back settles nothing
  if (!begun_) {
    begun_ = true;
    last_ = counter_at_ = now.at;
    counter_ = now.counter_j;
    power_ = now.power_w;
    forget_ended(now.at);
    return interval;
  }
  const UnixTime from = last_;
  const double dt = seconds(now.at - from);
  bool attribute = true;
  double settle = 0;  // against what was booked while the counter could not be read
  if (now.counter_j && counter_) {
    const double whole = seconds(now.at - counter_at_);
    double difference = *now.counter_j - *counter_;
    if (difference < 0) {
      attribute = false;
      interval.words = fmt::format(
          "the energy counter went back from {:.1f} J to {:.1f} J (driver reload or reset): its "
          "energy since then is unattributed",
          *counter_, *now.counter_j);
      difference = *now.counter_j <= options_.most_w * whole ? *now.counter_j : 0;
    } else if (difference > options_.most_w * whole + 1) {
      attribute = false;
      interval.words = fmt::format(
          "the energy counter jumped by {:.1f} J in {:.1f} s, more than any board draws: the "
          "difference is ignored",
          difference, whole);
      difference = provisional_j_ + booked_without_counter(now, dt, interval.source);
    }
    settle = difference - provisional_j_;
    interval.joules = settle;
    if (provisional_j_ != 0 && interval.words.empty()) {
      // The last stretch is booked as before; the rest corrects the estimates.
      EnergySource unused;
      const double estimate = booked_without_counter(now, dt, unused);
      interval.joules = std::clamp(settle, 0.0, std::max(0.0, estimate));
      interval.unattributed_j = settle - interval.joules;
      interval.words = fmt::format(
          "the energy counter could not be read for {:.1f} s: {:+.1f} J beyond the estimates of that time are "
          "unattributed",
          seconds(from - counter_at_), interval.unattributed_j);
    }
  } else {
    interval.joules = booked_without_counter(now, dt, interval.source);
    // A counter that is read for the first time begins here.
    provisional_j_ = counter_ ? provisional_j_ + interval.joules : 0;
  }
  if (attribute && !restored_ && now.at - from > options_.gap) {
    attribute = false;
    interval.words = fmt::format(
        "no sample for {:.1f} s (at most {:.1f} s are bridged): the energy above idle of that "
        "time is unattributed",
        dt, seconds(options_.gap));
  }
  const double correction = interval.unattributed_j;
  interval.unattributed_j = 0;
  share_out(interval, from, now.at, attribute);
  if (restored_ && interval.words.empty() && interval.jobs.empty() && interval.unattributed_j > 0)
    interval.words = fmt::format("{:.1f} J were used without samples and without a known job: unattributed",
                                 interval.unattributed_j);
  interval.unattributed_j += correction;
  interval.joules += correction;

  totals_.by_source_j[int(interval.source)] += interval.joules;
  totals_.idle_j += interval.idle_j;
  totals_.unattributed_j += interval.unattributed_j;
  for (const auto& [job, joules] : interval.jobs) totals_.jobs_j += joules;
  if (now.counter_j) {
    counter_ = now.counter_j;
    counter_at_ = now.at;
    provisional_j_ = 0;
  }
  power_ = now.power_w;
  last_ = now.at;
  restored_ = false;
  forget_ended(now.at);
  return interval;
}

BoardMeter& EnergyMeter::board(const std::string& uuid, BoardMeter::Options options) {
  const auto [at, fresh] = boards_.try_emplace(uuid, options);
  if (!fresh) at->second.options_ = options;
  return at->second;
}

EnergyTotals EnergyMeter::totals() const {
  EnergyTotals sum;
  for (const auto& [uuid, board] : boards_) {
    for (int i = 0; i < kEnergySources; ++i) sum.by_source_j[i] += board.totals().by_source_j[i];
    sum.jobs_j += board.totals().jobs_j;
    sum.idle_j += board.totals().idle_j;
    sum.unattributed_j += board.totals().unattributed_j;
  }
  return sum;
}

void EnergyMeter::clock_stepped(Time by) {
  for (auto& [uuid, b] : boards_) {
    b.last_ = moved(b.last_, by);
    b.counter_at_ = moved(b.counter_at_, by);
    for (auto& [job, run] : b.runs_) {
      run.since = moved(run.since, by);
      if (run.until) run.until = moved(*run.until, by);
    }
  }
}

}  // namespace smartmig
