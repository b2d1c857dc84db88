#include "eval/partition_search.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "policy/layouts/repartitioners.h"
#include "sim/simulate.h"

namespace smartmig {
namespace {

constexpr std::size_t kClimbs = 4;  // number of best starts that are climbed

// How many GPUs of each model have each candidate shape, by day and by night.
struct PartitionChoice {
  std::vector<int> day, night;  // by option; night is empty for a static partition
  int day_begin = 8, night_begin = 20;
  auto operator<=>(const PartitionChoice&) const = default;
};

struct Option {
  int model;
  Shape shape;
};

class Search {
 public:
  Search(const Setting& setting, const SearchOptions& options, const std::function<void(std::size_t, double)>& tell)
      : setting_(setting), options_(options), tell_(tell) {}

  Result<SearchOutcome> run() {
    for (const std::uint64_t seed : options_.seeds) {
      SMARTMIG_TRY(Day day, make_day(setting_, seed));
      days_.push_back(std::move(day));
    }
    const Platform& platform = *setting_.platform;
    for (std::size_t m = 0; m < platform.models().size(); ++m) {
      const Platform::Model& model = platform.models()[m];
      auto shapes = options_.paper_shapes_only ? paper_shapes(*model.gpu) : std::vector<Shape>();
      if (shapes.empty()) shapes = model.shapes->maximal_shapes();
      for (const Shape& shape : shapes) choices_.push_back({int(m), shape});
      gpus_of_model_.push_back(0);
    }
    for (std::size_t g = 0; g < platform.gpus(); ++g) ++gpus_of_model_[std::size_t(platform.model_index(GpuId(g)))];

    std::vector<PartitionChoice> starts;
    for (std::size_t i = 0; i < choices_.size(); ++i) starts.push_back(all_in(i));
    if (const auto paper = paper_static()) starts.push_back(*paper);
    std::vector<std::pair<double, std::size_t>> ranked;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      SMARTMIG_TRY(const double et, score(starts[i]));
      ranked.emplace_back(et, i);
    }
    std::sort(ranked.begin(), ranked.end());
    SearchOutcome outcome;
    outcome.start_et = ranked[0].first;
    if (outcome.start_et == HUGE_VAL)
      return invalid("no partition of one shape runs all jobs of {}, because a job needs a slice that none has",
                     setting_.workload);
    PartitionChoice best;
    double best_et = HUGE_VAL;
    for (std::size_t i = 0; i < std::min(kClimbs, ranked.size()); ++i) {
      PartitionChoice top = starts[ranked[i].second];
      double et = ranked[i].first;
      SMARTMIG_RETURN_IF_ERROR(climb(top, et));
      if (et < best_et) {
        best_et = et;
        best = top;
      }
    }
    if (options_.twice) {
      best.night = best.day;
      SMARTMIG_RETURN_IF_ERROR(climb(best, best_et));
    }
    outcome.evaluations = evaluations_;
    outcome.layouts = to_file(best, best_et);
    return outcome;
  }

 private:
  PartitionChoice all_in(std::size_t choice) const {
    PartitionChoice c;
    c.day.assign(choices_.size(), 0);
    for (std::size_t m = 0; m < gpus_of_model_.size(); ++m) {
      std::size_t at = choice;
      if (std::size_t(choices_[choice].model) != m) {
        at = 0;
        while (std::size_t(choices_[at].model) != m) ++at;
      }
      c.day[at] = gpus_of_model_[m];
    }
    return c;
  }

  // The paper's [1,1,2,3,3,5,5,10] over the fleet, if all GPUs know these numbers.
  std::optional<PartitionChoice> paper_static() const {
    const auto shapes = parse_shapes(*setting_.platform, {"1", "1", "2", "3", "3", "5", "5", "10"}, true);
    if (!shapes) return std::nullopt;
    PartitionChoice c;
    c.day.assign(choices_.size(), 0);
    for (std::size_t g = 0; g < shapes->size(); ++g) {
      const int model = setting_.platform->model_index(GpuId(g));
      std::size_t at = 0;
      while (at < choices_.size() && !(choices_[at].model == model && choices_[at].shape == (*shapes)[g])) ++at;
      if (at == choices_.size()) return std::nullopt;
      ++c.day[at];
    }
    return c;
  }

  std::vector<Shape> shapes_of(const std::vector<int>& counts) const {
    std::vector<Shape> shapes(setting_.platform->gpus());
    std::vector<int> left = counts;
    for (std::size_t g = 0; g < shapes.size(); ++g) {
      const int model = setting_.platform->model_index(GpuId(g));
      std::size_t at = 0;
      while (choices_[at].model != model || left[at] == 0) ++at;
      --left[at];
      shapes[g] = choices_[at].shape;
    }
    return shapes;
  }

  Result<double> score(const PartitionChoice& candidate) {
    if (const auto known = known_.find(candidate); known != known_.end()) return known->second;
    std::vector<double> et(days_.size());
    std::vector<std::optional<Error>> errors(days_.size());
    run_parallel(days_.size(), options_.threads, [&](std::size_t d) {
      const auto value = score_day(candidate, days_[d]);
      if (value)
        et[d] = *value;
      else
        errors[d] = value.error();
    });
    for (const auto& error : errors)
      if (error) return *error;
    double sum = 0;
    for (double v : et) sum += v;
    ++evaluations_;
    return known_[candidate] = sum / double(days_.size());
  }

  Result<double> score_day(const PartitionChoice& candidate, const Day& day) const {
    PolicyOptions options;
    options.rule.a = energy_weight(setting_, day.jobs->workload());
    options.rule.w = per_job_weight(setting_, day.jobs->workload());
    SMARTMIG_TRY(auto placer, make_placer(options_.placer, options, setting_.cost));
    std::unique_ptr<Repartitioner> repartitioner;
    if (candidate.night.empty())
      repartitioner = std::make_unique<FixedShapes>(shapes_of(candidate.day));
    else
      repartitioner = std::make_unique<TwiceDaily>(TwiceDaily::Schedule{
          shapes_of(candidate.day), shapes_of(candidate.night), candidate.day_begin, candidate.night_begin});
    SMARTMIG_TRY(auto initial, initial_layouts(*setting_.platform, repartitioner->initial()));
    PairPolicy policy(std::move(repartitioner), std::move(placer));
    const auto result =
        simulate({setting_.platform, day.jobs, setting_.cost, std::move(initial), options.rule.a}, policy);
    // A partition on which some job never runs is no candidate, whatever its cost.
    return result ? result->summary.et : HUGE_VAL;
  }

  // All steps from a candidate: moves of `step` GPUs of a model between two shapes, by day or night, and changes of the
  // hours.
  std::vector<PartitionChoice> neighbours(const PartitionChoice& from, int step) const {
    std::vector<PartitionChoice> out;
    const auto moves = [&](std::vector<int> PartitionChoice::*counts) {
      for (std::size_t i = 0; i < choices_.size(); ++i) {
        if ((from.*counts)[i] < step) continue;
        for (std::size_t j = 0; j < choices_.size(); ++j) {
          if (i == j || choices_[i].model != choices_[j].model) continue;
          PartitionChoice next = from;
          (next.*counts)[i] -= step;
          (next.*counts)[j] += step;
          out.push_back(std::move(next));
        }
      }
    };
    moves(&PartitionChoice::day);
    if (from.night.empty()) return out;
    moves(&PartitionChoice::night);
    if (step > 1) return out;
    for (const int by : {-1, 1, -2, 2, -4, 4}) {
      PartitionChoice earlier = from, later = from;
      earlier.day_begin = (from.day_begin + by + 24) % 24;
      later.night_begin = (from.night_begin + by + 24) % 24;
      out.push_back(earlier);
      out.push_back(later);
    }
    return out;
  }

  Result<Ok> climb(PartitionChoice& best, double& best_et) {
    int step = 1;
    for (const int gpus : gpus_of_model_) step = std::max(step, gpus / 4);
    for (;;) {
      bool improved = false;
      for (const PartitionChoice& next : neighbours(best, step)) {
        if (evaluations_ >= options_.max_evaluations) return Ok{};
        SMARTMIG_TRY(const double et, score(next));
        if (tell_) tell_(evaluations_, std::min(et, best_et));
        if (et < best_et) {
          best_et = et;
          best = next;
          improved = true;
          break;
        }
      }
      if (!improved && step == 1) return Ok{};
      if (!improved) step = std::max(1, step / 2);
    }
  }

  LayoutFile to_file(const PartitionChoice& best, double et) const {
    LayoutFile file;
    const auto texts = [&](const std::vector<int>& counts) {
      std::vector<std::string> out;
      const auto shapes = shapes_of(counts);
      for (std::size_t g = 0; g < shapes.size(); ++g)
        out.push_back(to_string(*setting_.platform->model(GpuId(g)).gpu, shapes[g]));
      return out;
    };
    file.twice = !best.night.empty();
    file.gpus = setting_.platform->spec();
    file.placer = options_.placer;
    file.workload = setting_.workload;
    if (setting_.windows) file.workload += ", " + days_in_words(setting_, options_.seeds);
    file.day = texts(best.day);
    if (file.twice) file.night = texts(best.night);
    file.day_begin = best.day_begin;
    file.night_begin = best.night_begin;
    if (!setting_.windows) file.seeds = options_.seeds;
    file.a = energy_weight(setting_, days_[0].jobs->workload());
    file.et = et;
    return file;
  }

  const Setting& setting_;
  const SearchOptions& options_;
  const std::function<void(std::size_t, double)>& tell_;
  std::vector<Day> days_;
  std::vector<Option> choices_;
  std::vector<int> gpus_of_model_;
  std::map<PartitionChoice, double> known_;
  std::size_t evaluations_ = 0;
};

}  // namespace

Result<SearchOutcome> search_partition(const Setting& setting, const SearchOptions& options,
                                       const std::function<void(std::size_t, double)>& tell) {
  if (options.seeds.empty()) return invalid("a search needs at least one training seed");
  return Search(setting, options, tell).run();
}

}  // namespace smartmig
