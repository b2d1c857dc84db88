#include "research/papers/memory_study.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/check.h"
#include "base/math.h"
#include "base/rng.h"
#include "eval/experiment.h"
#include "memory/memory_projection.h"
#include "mig/catalog.h"
#include "research/research_files.h"

namespace smartmig {
namespace {

constexpr std::size_t kEvery = 4;    // points of the curve between two samples
constexpr double kLoaded = 0.25;     // share of the slice: below it, a job is loading
constexpr std::size_t kRecent = 30;  // samples of the recent line

struct Answer {
  bool restart = false;
  double needs_mib = 0;
};

class Foreseer {
 public:
  Foreseer(ForesightMethod method, const MemoryCase& job) : method_(method), job_(job) {}

  Answer look(double at, double mib, double limit) {
    if (method_ == ForesightMethod::kWait) return {};
    if (method_ == ForesightMethod::kOurs) {
      projection_.add(at, mib);
      const RestartVerdict v = projection_.verdict(limit, job_.expected_s, {job_.restart_s, at, at});
      return {v.restart, v.needs_mib};
    }
    at_.push_back(at);
    mib_.push_back(mib);
    if (at_.size() < std::size_t(kSudden)) return {};
    const double end = job_.expected_s > at ? job_.expected_s : 2 * at;
    const double there = std::max(line_at(end), *std::max_element(mib_.begin(), mib_.end()));
    return {there > limit, there};
  }
  double needs_after_failure(double limit) const {
    if (method_ != ForesightMethod::kOurs) return limit;
    return projection_.forecast(job_.expected_s).quantile(0.5);
  }

 private:
  double line_at(double t) const {
    const std::size_t first =
        method_ == ForesightMethod::kRecentLine && at_.size() > kRecent ? at_.size() - kRecent : 0;
    const double n = double(at_.size() - first), t0 = at_[first];
    double x = 0, y = 0, xx = 0, xy = 0;
    for (std::size_t i = first; i < at_.size(); ++i) {
      const double dx = at_[i] - t0;
      x += dx;
      y += mib_[i];
      xx += dx * dx;
      xy += dx * mib_[i];
    }
    const double slope = (n * xy - x * y) / std::max(n * xx - x * x, 1e-9);
    return (y - slope * x) / n + slope * (t - t0);
  }

  ForesightMethod method_;
  const MemoryCase& job_;
  MemoryProjection projection_;
  std::vector<double> at_, mib_;
};

}  // namespace

const char* name_of(ForesightMethod method) {
  constexpr const char* names[] = {"ours", "line", "recent line", "wait for failure"};
  return names[int(method)];
}

void Foresight::add(const Foresight& o) {
  cases += o.cases;
  doomed += o.doomed;
  fitting += o.fitting;
  asked += o.asked;
  heralded += o.heralded;
  missed += o.missed;
  missed_heralded += o.missed_heralded;
  false_restarts += o.false_restarts;
  over += o.over;
  saved_share += o.saved_share;
  lost_s += o.lost_s;
  oracle_s += o.oracle_s;
}

std::vector<double> memory_ladder() {
  const auto model = Catalog::builtin().find("a100-40gb");
  SMARTMIG_CHECK(model, "the catalogue has no a100-40gb");
  std::set<double> sizes;
  for (const Profile& p : (*model)->profiles())
    if (p.variant == Variant::kPlain || p.variant == Variant::kDoubleMemory) sizes.insert(p.memory_mib);
  return {sizes.begin(), sizes.end()};
}

MemoryCase make_case(const std::string& family, CurveFamily::Group group, const MemoryCurve* recorded,
                     std::uint64_t seed) {
  Rng rng(seed, 72);
  MemoryCase job;
  job.group = group;
  job.seed = seed;
  const std::vector<double> ladder = memory_ladder();
  job.first_slice = rng.below(ladder.size() - 1);
  // Half of the jobs fit. A job's highest memory is never within 2 % of a slice's, where chance decides.
  double peak;
  do {
    const double limit = ladder[job.first_slice];
    peak = limit * (rng.below(2) ? rng.uniform(0.5, 0.98) : rng.uniform(1.02, 2.6));
  } while (peak > 0.98 * ladder.back() ||
           std::any_of(ladder.begin(), ladder.end(), [&](double s) { return std::abs(peak / s - 1) < 0.02; }));
  const double duration = deterministic_exp(rng.uniform(deterministic_log(120), deterministic_log(7200)));
  job.curve = recorded ? stretched(*recorded, duration, peak) : make_curve(family, seed, duration, peak);
  job.restart_s = deterministic_exp(rng.uniform(deterministic_log(15), deterministic_log(250)));
  const std::uint64_t told = rng.below(5);
  if (told < 3)
    job.expected_s = duration * deterministic_exp(0.25 * rng.normal());
  else if (told == 3)
    job.expected_s = duration * deterministic_exp(rng.uniform(deterministic_log(0.3), deterministic_log(3)));
  job.missing = rng.below(4) == 0 ? rng.uniform(0.1, 0.5) : 0;
  return job;
}

bool heralded(const MemoryCurve& curve, std::size_t failure, double limit_mib) {
  std::size_t begin = kEvery - 1;
  while (begin < failure && curve.mib[begin] < kLoaded * limit_mib) begin += kEvery;
  double half_way = 0, highest = 0;
  int seen = 0;
  for (std::size_t i = begin; i < failure; i += kEvery) {
    ++seen;
    highest = std::max(highest, curve.mib[i]);
    if (2 * i <= begin + failure) half_way = highest;
  }
  return seen >= kSudden && highest - half_way >= (limit_mib - half_way) / 2;
}

Foresight judge(const MemoryCase& job, ForesightMethod method) {
  const std::vector<double> ladder = memory_ladder();
  Foresight result;
  result.cases = 1;
  double peak = 0;
  for (const double v : job.curve.mib) peak = std::max(peak, v);
  std::size_t slice = job.first_slice;
  for (std::uint64_t attempt = 0;; ++attempt) {
    const double limit = ladder[slice];
    std::size_t failure = 0;
    while (failure < job.curve.mib.size() && job.curve.mib[failure] <= limit) ++failure;
    const bool doomed = failure < job.curve.mib.size();
    ++(doomed ? result.doomed : result.fitting);
    result.asked += !doomed && slice + 1 < ladder.size();
    const bool announced = doomed && heralded(job.curve, failure, limit);
    result.heralded += announced;
    if (doomed && attempt == 0) result.oracle_s = job.restart_s;
    Foreseer foreseer(method, job);
    Rng gaps(mix64(job.seed, attempt), 73);
    Answer answer;
    std::size_t at = 0;
    for (; at < failure && slice + 1 < ladder.size(); ++at) {
      if (at % kEvery != kEvery - 1 || gaps.uniform() < job.missing) continue;
      answer = foreseer.look(job.curve.at(at), job.curve.mib[at], limit);
      if (answer.restart) break;
    }
    if (!answer.restart && !doomed) return result;
    if (answer.restart) {
      result.false_restarts += !doomed;
      if (doomed) result.saved_share += 1 - job.curve.at(at) / job.curve.at(failure);
    } else {
      ++result.missed;
      result.missed_heralded += announced;
      answer.needs_mib = foreseer.needs_after_failure(limit);
    }
    result.lost_s += (answer.restart ? job.curve.at(at) : job.curve.at(failure)) + job.restart_s;
    ++slice;
    while (slice + 1 < ladder.size() && ladder[slice] < answer.needs_mib) ++slice;
    result.over += ladder[slice - 1] >= peak;
  }
}

Result<std::vector<FamilyForesight>> study_memory(const MemoryStudyOptions& options) {
  std::vector<FamilyForesight> families;
  for (const CurveFamily& family : curve_families())
    if (!options.tuning_only || family.group == CurveFamily::kTuning)
      families.push_back({family.name, family.group, {}});
  const std::string file = "memory_curves.csv";
  SMARTMIG_TRY(const auto recorded, parse_recorded_curves(file, research_file(file)));
  const std::size_t synthetic = families.size();
  if (!options.tuning_only)
    for (const MemoryCurve& curve : recorded) families.push_back({curve.family, CurveFamily::kRecorded, {}});
  run_parallel(families.size(), options.threads, [&](std::size_t f) {
    FamilyForesight& row = families[f];
    for (int i = 0; i < options.cases_per_family; ++i) {
      const MemoryCase job = make_case(row.family, row.group, f < synthetic ? nullptr : &recorded[f - synthetic],
                                       mix64(options.seed + std::uint64_t(i), f));
      for (int m = 0; m < kForesightMethods; ++m) row.by_method[m].add(judge(job, ForesightMethod(m)));
    }
  });
  return families;
}

}  // namespace smartmig
