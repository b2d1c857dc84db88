#include "queue/learning/history.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/math.h"
#include "base/text.h"

namespace smartmig {
namespace {

constexpr double kMostSeconds = 1e10;
constexpr int kMostMib = 1 << 30;
constexpr std::size_t kModels = 64, kSiteCurves = 64, kLike = 3, kLookedAt = 64, kOfEachLike = 4;
constexpr double kLeastLike = 0.5, kNearlyAsLike = 0.1;
constexpr double kSameNumbers = 0.6;  // likeness from which a number of one command means what it means in the other
constexpr double kHalfRuns = 8, kHalfDays = 30;
constexpr double kSurprise = 2.5, kMatters = 0.14;  // standard deviations; of the logarithm
constexpr std::size_t kKnownProgram = 3;            // runs before which nothing surprises
constexpr double kMostDoubt = 0.5;                  // variance that counts against a size
constexpr double kMostLesson = 0.02, kFullLesson = 0.05;
constexpr double kUsualNoise = 0.4, kBorrowed = 0.5;  // spreads: as of one more run; of a command that never ran
constexpr double kInterval = 1.2816;                  // 80 % of a normal distribution

// What is stored has five digits, so that it reads back alike.
double rounded_5(double x) { return parse_double(fmt::format("{:.5g}", x)).value_or(0); }

}  // namespace

void History::set_sharing(BoardSharing sharing) {
  sharing_ = sharing;
  models_.clear();
  for (Entry& entry : entries_) entry.curve.reset();
}

double History::log_share(int slices, int of) const { return deterministic_log(sharing_.share(slices, of)); }

RunPlace History::place_on(int slices, int of, const RunNumbers& numbers) const {
  return {log_share(slices, of), sharing_.others(slices, of), numbers};
}

History::Entry& History::touch(const std::string& signature) {
  const auto found = by_signature_.find(signature);
  if (found != by_signature_.end()) {
    entries_.splice(entries_.end(), entries_, found->second);
    return entries_.back();
  }
  if (entries_.size() == kSignatures) {
    by_signature_.erase(entries_.front().signature);
    entries_.pop_front();
  }
  entries_.emplace_back().signature = signature;
  by_signature_.emplace(signature, std::prev(entries_.end()));
  return entries_.back();
}

bool History::on_two_sizes(const Entry& entry) {
  return std::any_of(entry.seen.begin(), entry.seen.end(), [&](const Run& run) {
    return run.slices * entry.seen.front().of != entry.seen.front().slices * run.of;
  });
}

void History::keep(Entry& entry, const Run& run) {
  entry.seen.push_back(run);
  if (entry.seen.size() <= kRuns) return;
  std::map<std::pair<int, int>, std::size_t> of_size;
  for (const Run& one : entry.seen) ++of_size[{one.slices, one.of}];
  std::size_t most = 0;
  for (const auto& [size, count] : of_size) most = std::max(most, count);
  const auto oldest = std::find_if(entry.seen.begin(), entry.seen.end(), [&](const Run& one) {
    return of_size[{one.slices, one.of}] == most;
  });
  entry.seen.erase(oldest);
}

std::vector<SeenRun> History::seen_runs(const Entry& entry, int command, double apart) const {
  std::vector<SeenRun> out;
  const std::size_t from = command > 0 && entry.seen.size() > kOfEachLike ? entry.seen.size() - kOfEachLike : 0;
  for (std::size_t i = from; i < entry.seen.size(); ++i) {
    const Run& run = entry.seen[i];
    SeenRun seen;
    seen.place = {log_share(run.slices, run.of), run.load, run.numbers};
    seen.log_s = deterministic_log(run.s);
    if (run.launch_s >= 0) seen.launch_share = std::min(1.0, run.launch_s / run.s);
    seen.epoch = run.epoch;
    seen.command = command;
    seen.apart = apart;
    const double later = double(entry.seen.size() - 1 - i),
                 days = double(std::max<std::int64_t>(0, entry.seen.back().ended_s - run.ended_s)) / 86400;
    seen.age = deterministic_exp(0.6931471805599453 * std::min(40.0, later / kHalfRuns + days / kHalfDays));
    out.push_back(seen);
  }
  return out;
}

// Most alike first, and none that is much less so; of equals the one last used.
std::vector<const History::Entry*> History::like(const std::string& signature) const {
  const std::string_view program = program_of(signature);
  std::vector<std::pair<double, const Entry*>> found;
  std::size_t looked_at = 0;
  for (auto at = entries_.rbegin(); at != entries_.rend() && looked_at < kLookedAt; ++at) {
    if (at->seen.empty() || at->signature == signature || program_of(at->signature) != program) continue;
    ++looked_at;
    const double alike = likeness(signature, at->signature);
    if (alike >= kLeastLike) found.emplace_back(alike, &*at);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  if (found.size() > kLike) found.resize(kLike);
  while (!found.empty() && found.back().first < found.front().first - kNearlyAsLike) found.pop_back();
  std::vector<const Entry*> out;
  for (const auto& [alike, entry] : found) out.push_back(entry);
  return out;
}

CurveSet History::curves_for(const std::string& signature, std::string_view kind) {
  std::vector<WeightedCurve> own;
  std::size_t looked_at = 0;
  for (auto at = entries_.rbegin(); at != entries_.rend() && own.size() < kSiteCurves && looked_at < 4 * kSiteCurves;
       ++at, ++looked_at) {
    if (at->signature == signature || !on_two_sizes(*at)) continue;
    if (!at->curve) at->curve = RunModel(seen_runs(*at, 0, 0), *shipped_, at->epoch).curve();
    own.push_back(*at->curve);
  }
  return shipped_->with_site(own).leaning_to(kind);
}

// Null: nothing is known.
std::shared_ptr<const RunModel> History::model_of(const Entry& entry, std::string_view kind) {
  const std::pair<std::string, std::string> key(entry.signature, kind);
  if (const auto at = models_.find(key); at != models_.end()) return at->second;
  std::vector<SeenRun> runs = seen_runs(entry, 0, 0);
  bool numbers = true;
  if (runs.empty()) {
    int command = 0;
    for (const Entry* other : like(entry.signature)) {
      const double alike = likeness(entry.signature, other->signature);
      numbers = numbers && alike >= kSameNumbers;
      for (const SeenRun& run : seen_runs(*other, ++command, 2 * (1 - alike))) runs.push_back(run);
    }
  }
  std::shared_ptr<const RunModel> model;
  if (!runs.empty())
    model = std::make_shared<const RunModel>(std::move(runs), curves_for(entry.signature, kind), entry.epoch, numbers);
  if (models_.size() >= kModels) models_.clear();
  return models_[key] = std::move(model);
}

// REQUIRES: the last run is not in the belief yet.
void History::notice_change(Entry& entry, const TimeBelief& before) {
  const auto off_by = [&](const Run& run) {
    const double off = run.predicted_s > 0 ? deterministic_log(run.s / run.predicted_s) : 0;
    return std::abs(off) > std::max(kMatters, kSurprise * std::hypot(before.sd, before.noise)) ? off : 0.0;
  };
  const std::size_t n = entry.seen.size();
  if (n < kKnownProgram + 1) return;
  Run &last = entry.seen[n - 1], &previous = entry.seen[n - 2];
  if (last.epoch != previous.epoch || off_by(last) * off_by(previous) <= 0) return;
  const auto of_now =
      std::count_if(entry.seen.begin(), entry.seen.end() - 2, [&](const Run& run) { return run.epoch == entry.epoch; });
  if (std::size_t(of_now) + 1 < kKnownProgram) return;
  entry.epoch = last.epoch = previous.epoch = std::min(entry.epoch + 1, 1'000'000);
}

void History::add(const CommandKey& key, const PastRun& run, std::string_view kind) {
  if (key.signature.empty()) return;
  Entry& entry = touch(key.signature);
  if (run.ran_s >= 0 && std::isfinite(run.ran_s) && run.slices >= 1 && run.of >= run.slices && run.of <= 64) {
    Run seen;
    seen.slices = run.slices;
    seen.of = run.of;
    seen.epoch = entry.epoch;
    seen.s = rounded_5(std::clamp(run.ran_s, 1e-6, kMostSeconds));
    seen.load = std::isfinite(run.load) ? rounded_5(std::clamp(run.load, 0.0, kMostBeside)) : 0;
    seen.launch_s = run.launch_s >= 0 && run.launch_s <= kMostSeconds ? rounded_5(run.launch_s) : -1;
    seen.ended_s = std::max<std::int64_t>(0, unix_us(run.ended) / 1'000'000);
    seen.numbers = key.numbers;
    TimeBelief before;
    if (const auto model = model_of(entry, kind)) {
      before = model->at({log_share(run.slices, run.of), seen.load, key.numbers});
      seen.predicted_s =
          rounded_5(std::clamp(deterministic_exp(std::clamp(before.log_s, -13.0, 23.0)), 1e-6, kMostSeconds));
    }
    keep(entry, seen);
    notice_change(entry, before);
    entry.runs = std::min(entry.runs + 1, 1'000'000'000);
    entry.curve.reset();
    std::erase_if(models_, [&](const auto& one) { return program_of(one.first.first) == program_of(key.signature); });
  }
  if (run.peak_mib >= 0) {
    entry.peak_mib.push_back(std::min(run.peak_mib, kMostMib));
    if (entry.peak_mib.size() > kRuns) entry.peak_mib.erase(entry.peak_mib.begin());
  }
  entry.out_of_memory_mib = std::max(entry.out_of_memory_mib, std::min(run.out_of_memory_mib, kMostMib));
}

void History::add_work(const std::string& signature, const PastWork& work) {
  if (signature.empty()) return;
  std::vector<PastWork>& kept = touch(signature).works;
  kept.push_back(work);
  if (kept.size() > kWorks) kept.erase(kept.begin());
}

std::vector<PastWork> History::works(const std::string& signature) const {
  const auto found = by_signature_.find(signature);
  if (found == by_signature_.end()) return {};
  return {found->second->works.rbegin(), found->second->works.rend()};
}

void History::add_joules(const std::string& signature, UnixTime ended, double joules) {
  const auto found = by_signature_.find(signature);
  if (found == by_signature_.end() || !(joules >= 0 && joules < 1e18)) return;
  for (Run& run : found->second->seen)
    if (run.ended_s == unix_us(ended) / 1'000'000 && run.joules < 0) {
      run.joules = rounded_5(joules);
      return;
    }
}

void History::find_lessons(const RunModel& model, const CommandKey& key, const ForecastQuestion& question,
                           Forecast& forecast) const {
  const int of = std::min(question.of, kMaxComputeSlices);
  std::vector<RunPlace> places;
  for (int k = 1; k <= of; ++k) places.push_back(place_on(k, of, key.numbers));
  const std::vector<double> doubts = model.doubts(places);
  const double noise = model.at(places[0]).noise, often = double(forecast.runs) / (forecast.runs + 2);
  std::vector<double> gains;
  const std::size_t n = places.size();
  for (std::size_t k = 0; k < n; ++k) {
    double gain = 0;
    for (std::size_t j = 0; j < n; ++j)
      gain += doubts[k * n + j] * doubts[k * n + j] / (doubts[k * n + k] + noise * noise) / double(n);
    gains.push_back(gain);
  }
  const double least = *std::min_element(gains.begin(), gains.end());
  for (std::size_t k = 0; k < n; ++k)
    forecast.sizes[k].teaches = kMostLesson * often * std::min(1.0, (gains[k] - least) / kFullLesson);
}

Forecast History::forecast(const CommandKey& key, const ForecastQuestion& question) {
  Forecast out;
  Entry nothing;
  nothing.signature = key.signature;
  const bool known = by_signature_.contains(key.signature);
  const Entry& entry = known ? touch(key.signature) : nothing;
  out.runs = entry.runs;
  if (const auto model = model_of(entry, question.kind)) {
    if (entry.seen.empty())
      for (const Entry* other : like(entry.signature)) out.borrowed += int(std::min(other->seen.size(), kOfEachLike));
    const int of = std::min(question.of, kMaxComputeSlices);
    std::array<TimeBelief, kMaxComputeSlices> beliefs;
    double least_sd = 1e9;
    for (int k = 1; k <= of; ++k) {
      TimeBelief& belief = beliefs[std::size_t(k - 1)];
      belief = model->at(place_on(k, of, key.numbers));
      belief.log_s = std::clamp(belief.log_s, -13.0, 23.0);
      least_sd = std::min(least_sd, belief.sd);
    }
    for (int k = 1; k <= of; ++k) {
      const TimeBelief& belief = beliefs[std::size_t(k - 1)];
      SizeForecast& size = out.sizes[std::size_t(k - 1)];
      const double spread = kInterval * std::hypot(belief.sd, belief.noise),
                   doubt = std::min(kMostDoubt, belief.sd * belief.sd - least_sd * least_sd);
      size.s = deterministic_exp(belief.log_s + doubt / 2);
      if (k > 1) size.s = std::min(size.s, out.sizes[std::size_t(k - 2)].s);  // more never takes longer
      size.low_s = deterministic_exp(belief.log_s - spread);
      size.high_s = deterministic_exp(belief.log_s + spread);
      size.sd = belief.sd;
      double joules = 0, measured_s = 0;
      for (const Run& run : entry.seen) {
        if (run.slices * of != k * run.of) continue;
        ++size.runs;
        if (run.joules >= 0) joules += run.joules, measured_s += run.s;
      }
      if (measured_s > 0) size.watts = joules / measured_s;
    }
    if (out.runs > 0) find_lessons(*model, key, question, out);
    out.whole_s = out.sizes[std::size_t(of - 1)].s;
    out.log_slowdown = std::clamp(model->slowdown(place_on(1, of, key.numbers)), 0.0, kMostSlowdown);
    out.launch_s = model->launch_share() * deterministic_exp(beliefs[std::size_t(of - 1)].log_s);
    const double n = double(entry.seen.size()), s2 = least_sd * least_sd + beliefs[0].noise * beliefs[0].noise;
    out.sigma =
        n > 0 ? std::sqrt((n * s2 + kUsualNoise * kUsualNoise) / (n + 1)) : std::hypot(std::sqrt(s2), kBorrowed);
  }
  double memory = -1;
  if (!entry.peak_mib.empty())
    memory =
        *std::max_element(entry.peak_mib.begin(), entry.peak_mib.end()) * (1.05 + 0.45 / double(entry.peak_mib.size()));
  if (entry.out_of_memory_mib >= 0) memory = std::max(memory, 1.25 * entry.out_of_memory_mib);
  if (memory >= 0) out.mem_mib = int(std::ceil(std::min(memory, double(kMostMib))));
  return out;
}

std::vector<PredictedRun> History::last_runs(const std::string& signature) const {
  std::vector<PredictedRun> out;
  const auto found = by_signature_.find(signature);
  if (found == by_signature_.end()) return out;
  for (const Run& run : found->second->seen)
    out.push_back({run.slices, run.of, run.s, run.predicted_s, run.load, run.joules < 0 ? -1 : run.joules / run.s,
                   from_unix_us(run.ended_s * 1'000'000), run.epoch != found->second->epoch});
  return out;
}

int History::changes(const std::string& signature) const {
  const auto found = by_signature_.find(signature);
  return found == by_signature_.end() ? 0 : found->second->epoch;
}

void History::merge(const History& other) {
  for (const Entry& theirs : other.entries_) {
    Entry& ours = touch(theirs.signature);
    for (Run run : theirs.seen) {
      run.epoch = ours.epoch;
      keep(ours, run);
    }
    for (const int x : theirs.peak_mib) ours.peak_mib.push_back(x);
    if (ours.peak_mib.size() > kRuns) ours.peak_mib.erase(ours.peak_mib.begin(), ours.peak_mib.end() - kRuns);
    for (const PastWork& work : theirs.works) add_work(theirs.signature, work);
    ours.runs = std::min(ours.runs + theirs.runs, 1'000'000'000);
    ours.out_of_memory_mib = std::max(ours.out_of_memory_mib, theirs.out_of_memory_mib);
    ours.curve.reset();
  }
  models_.clear();
}

}  // namespace smartmig
