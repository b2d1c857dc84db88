#include "research/papers/learning_curves.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "base/rng.h"
#include "base/text.h"
#include "eval/statistics.h"

namespace smartmig {
namespace {

constexpr double kChangedBy = 1.6;
constexpr double kFixedExponent = 0.5;

struct TrueRun {
  int slices;
  double s, load;
};

double log_size(int slices) { return deterministic_log(slices / 7.0); }

// Scales up to a size and hardly beyond, as in the batches of papers/far_families.h, but with launch and a serial part.
SizeCurve rule_curve(Rng& rng) {
  const double limit = double(kLearningSizes[rng.below(kLearningSizes.size())]), serial = rng.uniform(0, 0.2),
               power = rng.uniform(0.8, 1.05), launch = rng.uniform(0, 0.4);
  std::array<double, kCurveSizes> time{};
  for (std::size_t i = 0; i < kCurveSizes; ++i) {
    const double size = std::min(double(i + 1), limit), beyond = std::max(0.0, double(i + 1) - limit);
    time[i] = serial + (1 - serial) * deterministic_exp(-power * deterministic_log(size)) / (1 + 0.02 * beyond);
  }
  SizeCurve curve;
  for (std::size_t i = 0; i < kCurveSizes; ++i) curve.log_time[i] = deterministic_log(time[i] / time.back());
  return with_launch(curve, launch);
}

double fixed_rule(const std::vector<TrueRun>& runs, int slices) {
  std::vector<double> whole;
  for (const TrueRun& run : runs) whole.push_back(deterministic_log(run.s) + kFixedExponent * log_size(run.slices));
  return median_of(whole) - kFixedExponent * log_size(slices);
}

double nearest_kind(const std::vector<TrueRun>& runs, const std::vector<SizeCurve>& kinds, int slices) {
  double least = -1, mean_of_least = 0;
  int alike = 0;
  for (const SizeCurve& kind : kinds) {
    double offset = 0, square = 0;
    for (const TrueRun& run : runs) {
      const double off = deterministic_log(run.s) - kind.at(log_size(run.slices));
      offset += off / double(runs.size());
      square += off * off / double(runs.size());
    }
    const double misfit = square - offset * offset, predicted = offset + kind.at(log_size(slices));
    if (least < 0 || misfit < least - 1e-9) least = misfit, mean_of_least = 0, alike = 0;
    if (misfit <= least + 1e-9) mean_of_least += predicted, ++alike;  // after one run, all fit
  }
  return mean_of_least / alike;
}

}  // namespace

double SyntheticCommand::seconds_on(int slices, double load) const {
  return whole_s * deterministic_exp(curve.at(log_size(slices)) + slowed * load);
}

bool is_held_out(std::string_view kind) { return hash_text(kind, 17) % 2 == 0; }

std::vector<SyntheticCommand> synthetic_commands(std::uint64_t seed, std::size_t count, bool by_rule_only) {
  const SpeedTable& table = SpeedTable::builtin();
  std::vector<const SpeedTable::Row*> held;
  for (const SpeedTable::Row& row : table.rows())
    if (is_held_out(row.kind) && (held.empty() || held.back()->kind != row.kind || held.back()->gpu != row.gpu))
      held.push_back(&row);
  std::vector<SyntheticCommand> out;
  for (std::size_t i = 0; i < count; ++i) {
    Rng rng(mix64(seed, i));
    SyntheticCommand command;
    command.name = fmt::format("program{}", i);
    command.held_out_kind = !by_rule_only && i % 2 == 0;
    if (command.held_out_kind) {
      const SpeedTable::Row& row = *held[rng.below(held.size())];
      command.curve = with_launch(curve_of_kind(table, row.kind, row.gpu), rng.uniform(0, 0.4));
    } else {
      command.curve = rule_curve(rng);
    }
    command.whole_s = rng.lognormal(deterministic_log(60), 0.8);
    command.slowed = std::max(0.0, 0.35 + 0.15 * rng.normal());
    out.push_back(std::move(command));
  }
  return out;
}

const char* name_of(Forecaster learner) {
  constexpr const char* kNames[] = {"history", "fixed rule", "nearest kind"};
  return kNames[int(learner)];
}

const char* name_of(LearningCase which) {
  constexpr const char* kNames[] = {"kinds not in the table", "made by another rule", "with neighbours (soft slices)",
                                    "after a change of the program"};
  return kNames[int(which)];
}

namespace {

class Site {
 public:
  Site(const CurveSet& curves, const std::vector<SizeCurve>& kinds, std::vector<SyntheticCommand> commands, bool soft,
       double noise, std::uint64_t seed)
      : history_(curves, {soft, 1}),
        kinds_(kinds),
        commands_(std::move(commands)),
        soft_(soft),
        noise_(noise),
        rng_(seed) {
    runs_.resize(commands_.size());
  }
  void run_each_once() {
    ++round_;
    for (std::size_t c = 0; c < commands_.size(); ++c) {
      const int slices = kLearningSizes[rng_.below(kLearningSizes.size())];
      const double load = soft_ ? rng_.uniform() : 0;
      const double s = commands_[c].seconds_on(slices, load) * rng_.lognormal(0, noise_);
      runs_[c].push_back({slices, s, load});
      if (runs_[c].size() > History::kRuns) runs_[c].erase(runs_[c].begin());
      PastRun run;
      run.ran_s = s;
      run.slices = slices;
      run.of = 7;
      run.load = load;
      run.ended = from_unix_us(1'700'000'000'000'000 + std::int64_t(round_) * 3'600'000'000);
      history_.add({commands_[c].name, {}}, run);
    }
  }
  void change_programs() {
    for (SyntheticCommand& command : commands_) command.whole_s *= kChangedBy;
  }
  template <class Add>
  void errors(const Add& add) {
    for (std::size_t c = 0; c < commands_.size(); ++c) {
      const Forecast known = history_.forecast({commands_[c].name, {}}, {7, {}});
      for (const int slices : kLearningSizes) {
        const double truth = deterministic_log(commands_[c].seconds_on(slices, soft_ ? 1 - slices / 7.0 : 0));
        const double predicted[kLearners] = {deterministic_log(known.sizes[std::size_t(slices - 1)].s),
                                             fixed_rule(runs_[c], slices), nearest_kind(runs_[c], kinds_, slices)};
        for (int l = 0; l < kLearners; ++l) add(commands_[c], l, std::abs(predicted[l] - truth));
      }
    }
  }

 private:
  History history_;
  const std::vector<SizeCurve>& kinds_;
  std::vector<SyntheticCommand> commands_;
  std::vector<std::vector<TrueRun>> runs_;
  const bool soft_;
  const double noise_;
  Rng rng_;
  int round_ = 0;
};

}  // namespace

LearningErrors learning_errors(std::uint64_t seed, std::size_t commands, std::size_t of_a_site, double noise) {
  const SpeedTable& table = SpeedTable::builtin();
  const CurveSet curves = CurveSet::of_table(table, is_held_out);
  std::vector<SizeCurve> kinds;
  for (const WeightedCurve& one : curves.curves())
    if (!one.kind.empty() && one.launch == 0) kinds.push_back(one.curve);
  LearningErrors out;
  std::array<std::array<std::array<double, kLearningRuns.size()>, kLearners>, kLearningCases> counts{};
  const std::vector<SyntheticCommand> all = synthetic_commands(seed, commands);
  const auto add_to = [&](LearningCase which, std::size_t when, int learner, double error) {
    out.error[std::size_t(which)][std::size_t(learner)][when] += error;
    counts[std::size_t(which)][std::size_t(learner)][when] += 1;
  };
  const auto index_of = [](int round) {
    return std::size_t(std::find(kLearningRuns.begin(), kLearningRuns.end(), round) - kLearningRuns.begin());
  };
  for (std::size_t from = 0; from < all.size(); from += of_a_site) {
    const std::vector<SyntheticCommand> here(all.begin() + std::ptrdiff_t(from),
                                             all.begin() + std::ptrdiff_t(std::min(all.size(), from + of_a_site)));
    for (const bool soft : {false, true}) {
      Site site(curves, kinds, here, soft, noise, mix64(seed, from + soft));
      for (int round = 1; round <= kLearningRuns.back(); ++round) {
        site.run_each_once();
        const std::size_t when = index_of(round);
        if (when == kLearningRuns.size()) continue;
        site.errors([&](const SyntheticCommand& command, int learner, double error) {
          add_to(soft                    ? LearningCase::kNeighbours
                 : command.held_out_kind ? LearningCase::kHeldOutKinds
                                         : LearningCase::kByRule,
                 when, learner, error);
        });
      }
      if (soft) continue;
      site.change_programs();
      for (int round = 1; round <= kLearningRuns.back(); ++round) {
        site.run_each_once();
        const std::size_t when = index_of(round);
        if (when == kLearningRuns.size()) continue;
        site.errors([&](const SyntheticCommand&, int learner, double error) {
          add_to(LearningCase::kChanged, when, learner, error);
        });
      }
    }
  }
  for (std::size_t c = 0; c < out.error.size(); ++c)
    for (std::size_t l = 0; l < out.error[c].size(); ++l)
      for (std::size_t w = 0; w < out.error[c][l].size(); ++w) out.error[c][l][w] /= std::max(1.0, counts[c][l][w]);
  return out;
}

}  // namespace smartmig
