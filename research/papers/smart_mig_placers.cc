#include "research/papers/smart_mig_placers.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "base/rng.h"
#include "eval/comparison.h"
#include "eval/seeds.h"
#include "report/svg_chart.h"
#include "research/bounds/paper_energy.h"
#include "research/papers/paper_marks.h"
#include "research/papers/paper_setting.h"

namespace smartmig {
namespace {

struct PlacerRule {
  const char *name, *label;
};
constexpr PlacerRule kPlacerRules[] = {{"edf", "EDF"}, {"met", "MET"}, {"cedf", "CEDF"}, {"random", "Random"}};
constexpr std::size_t kRuleCount = std::size(kPlacerRules);

struct Reading {
  const char *label, *key;
  const char* slack;    // deadlines after U(this) times the time on the whole GPU
  const char* layouts;  // for static; empty: drawn for each GPU and queue
};
constexpr const char* kTight = "1-1.5";
constexpr const char* kLoose = "2-4";
constexpr const char* kMixed = "3";
constexpr const char* kSimilar = "5,5,5,5,9,9,9,9";

struct PlacerFigure {
  const char *name, *title, *workload, *note, *why;
  Reading readings[2];
  double energy[kRuleCount], tardiness[kRuleCount];  // printed, by rule: % above the paper's bound, minutes
};

// Why U(2, 4) accompanies the paper's deadlines.
constexpr const char* kNeverInTime =
    "; deadlines as printed, U(1, 1.5) times the time on the whole GPU, cannot give almost "
    "no tardiness: a linear job (BERT inference, half of the jobs) takes 7/4 of that time on "
    "a 4g slice, 7/3 on a 3g, and is late on both; also shown: U(2, 4)";
constexpr const char* kByArrival =
    "; under deadlines as printed, U(1, 1.5) times the time on the whole GPU, nearly every "
    "job is late at this rate and EDF serves about by arrival; also shown: U(2, 4)";

const std::vector<PlacerFigure>& figures() {
  static const std::vector<PlacerFigure> all = {
      {"fig10",
       "Fig. 10: placers over 24 h queues, configurations vary",
       "paper:20x",
       "configurations not given: one of the 12 drawn for each GPU and queue, and the paper's "
       "static layouts",
       "",
       {{"drawn", "drawn", kTight, ""}, {"1,1,2,3,3,5,5,10", "paper_static", kTight, "1,1,2,3,3,5,5,10"}},
       {23.8, 23.2, 20.0, 27.8},
       {4.1, 4.0, 1.4, 3.1}},
      {"fig6",
       "Fig. 6: queues of 1,000 jobs, rate 1",
       "paper:rate=1,jobs=1000",
       "layouts not given: layout 3",
       kNeverInTime,
       {{"U(1, 1.5)", "slack_1_to_1.5", kTight, kMixed}, {"U(2, 4)", "slack_2_to_4", kLoose, kMixed}},
       {77, 90, 86, 117},
       {0, 0, 0, 0}},
      {"fig7",
       "Fig. 7: queues of 1,000 jobs, rate 8",
       "paper:rate=8,jobs=1000",
       "layouts not given: layout 3",
       kByArrival,
       {{"U(1, 1.5)", "slack_1_to_1.5", kTight, kMixed}, {"U(2, 4)", "slack_2_to_4", kLoose, kMixed}},
       {28, 23.7, 24.2, 29.9},
       {17.9, 13.9, 14.9, 18.5}},
      {"fig8",
       "Fig. 8: mixed slice sizes within a GPU",
       "paper:rate=4,jobs=1000",
       "rate not given: 4; layout 3 on all GPUs",
       kNeverInTime,
       {{"U(1, 1.5)", "slack_1_to_1.5", kTight, kMixed}, {"U(2, 4)", "slack_2_to_4", kLoose, kMixed}},
       {29, 20.7, 25.1, 29.2},
       {0.78, 0.01, 0.15, 0.76}},
      {"fig9",
       "Fig. 9: similar slice sizes within a GPU",
       "paper:rate=4,jobs=1000",
       "rate not given: 4; layouts 5 and 9, four GPUs each",
       kNeverInTime,
       {{"U(1, 1.5)", "slack_1_to_1.5", kTight, kSimilar}, {"U(2, 4)", "slack_2_to_4", kLoose, kSimilar}},
       {23.1, 17.9, 17.0, 24.6},
       {0.06, 0, 0, 0.14}},
  };
  return all;
}

std::string layouts_of(const Reading& reading, const Setting& setting, std::uint64_t seed) {
  if (*reading.layouts) return reading.layouts;
  const std::size_t shapes = paper_shapes(*setting.platform->models()[0].gpu).size();
  Rng rng(seed);
  std::string out;
  for (std::size_t g = 0; g < setting.platform->gpus(); ++g)
    out += fmt::format("{}{}", out.empty() ? "" : ",", rng.below(shapes) + 1);
  return out;
}

struct RuleMeans {
  double energy_wmin[kRuleCount] = {}, tardiness_min[kRuleCount] = {}, bound_wmin = 0;
  double above_bound(std::size_t rule) const { return 100 * (energy_wmin[rule] / bound_wmin - 1); }
};

// Runs every rule on one queue.
Result<RuleMeans> run_queue(const Reading& reading, const Setting& setting, std::uint64_t seed) {
  SMARTMIG_TRY(const Day day, make_day(setting, seed));
  RuleMeans out;
  SMARTMIG_TRY(const double joules, paper_energy_bound_joules(*setting.platform, *day.jobs));
  out.bound_wmin = watt_minutes(joules);
  const std::string layouts = layouts_of(reading, setting, seed);
  for (std::size_t r = 0; r < kRuleCount; ++r) {
    const Contender contender = contender_of(fmt::format("static[{}]+{}", layouts, kPlacerRules[r].name), {});
    SMARTMIG_TRY(const Summary summary, run_day(setting, contender, day));
    out.energy_wmin[r] = summary.energy_wmin;
    out.tardiness_min[r] = summary.mean_tardiness_min;
  }
  return out;
}

Result<RuleMeans> run_reading(const PlacerFigure& figure, const Reading& reading, const SmartMigOptions& options,
                              const PaperProgress& progress) {
  SMARTMIG_TRY(const Setting setting, paper_setting(fmt::format("{},slack={}", figure.workload, reading.slack)));
  const auto seeds = seeds_from(kFirstReportSeed, std::size_t(options.days));
  std::vector<Result<RuleMeans>> queues(seeds.size(), Result<RuleMeans>(RuleMeans{}));
  std::atomic<std::size_t> done{0};
  run_parallel(seeds.size(), options.threads, [&](std::size_t d) {
    queues[d] = run_queue(reading, setting, seeds[d]);
    progress(figure.title, double(done.fetch_add(1) + 1) / double(seeds.size()));
  });
  RuleMeans mean;
  for (const auto& queue : queues) {
    if (!queue) return queue.error();
    const double share = 1 / double(seeds.size());
    mean.bound_wmin += share * queue->bound_wmin;
    for (std::size_t r = 0; r < kRuleCount; ++r) {
      mean.energy_wmin[r] += share * queue->energy_wmin[r];
      mean.tardiness_min[r] += share * queue->tardiness_min[r];
    }
  }
  return mean;
}

}  // namespace

std::vector<std::string> placer_figures() {
  std::vector<std::string> names;
  for (const PlacerFigure& figure : figures()) names.emplace_back(figure.name);
  return names;
}

Result<PaperSection> placer_section(const std::string& name, const SmartMigOptions& options,
                                    const PaperProgress& progress) {
  const auto found =
      std::find_if(figures().begin(), figures().end(), [&](const PlacerFigure& f) { return name == f.name; });
  if (found == figures().end()) return invalid("figure '{}' is not known", name);
  const PlacerFigure& figure = *found;
  PaperSection section;
  section.name = figure.name;
  section.title = fmt::format("{} (8 GPUs, {}, {} queues)", figure.title, figure.workload, options.days);
  section.note = fmt::format("{}{}", figure.note, figure.why);
  section.header = {"rule", "energy % above bound: paper"};
  std::vector<RuleMeans> measured;
  for (const Reading& reading : figure.readings) {
    SMARTMIG_TRY(const RuleMeans means, run_reading(figure, reading, options, progress));
    measured.push_back(means);
    section.header.push_back(reading.label);
  }
  section.header.emplace_back("tardiness min: paper");
  for (const Reading& reading : figure.readings) section.header.emplace_back(reading.label);
  for (std::size_t r = 0; r < kRuleCount; ++r) {
    std::vector<std::string> cells{kPlacerRules[r].label, fmt::format("{:g}", figure.energy[r])};
    for (const RuleMeans& means : measured) cells.push_back(fmt::format("{:.1f}", means.above_bound(r)));
    cells.push_back(fmt::format("{:g}", figure.tardiness[r]));
    for (const RuleMeans& means : measured) cells.push_back(fmt::format("{:.3f}", means.tardiness_min[r]));
    section.rows.push_back(std::move(cells));
    nlohmann::ordered_json json{{"rule", kPlacerRules[r].name},
                                {"printed_energy_percent_above_bound", figure.energy[r]},
                                {"printed_tardiness_min", figure.tardiness[r]}};
    for (std::size_t i = 0; i < measured.size(); ++i)
      json[figure.readings[i].key] = {{"energy_percent_above_bound", measured[i].above_bound(r)},
                                      {"energy_wmin", measured[i].energy_wmin[r]},
                                      {"mean_tardiness_min", measured[i].tardiness_min[r]}};
    section.json.push_back(std::move(json));
  }
  for (std::size_t i = 0; i < measured.size(); ++i)
    for (std::size_t r = 0; r < kRuleCount; ++r)
      for (PaperClaim claim :
           {above_bound_claim(kPlacerRules[r].label, figure.energy[r], measured[i].above_bound(r)),
            tardiness_claim(kPlacerRules[r].label, figure.tardiness[r], measured[i].tardiness_min[r])}) {
        claim.reading = figure.readings[i].label;
        section.claims.push_back(std::move(claim));
      }
  section.why = section.note;
  section.below = fmt::format("energy bound of the paper (linearised jobs, least preemptive makespan): {:.3f} M Wmin\n",
                              measured[0].bound_wmin / 1e6);
  return section;
}

Result<PaperSection> gpus_section(const SmartMigOptions& options, const PaperProgress& progress) {
  PaperSection section{
      "fig4",
      "Fig. 4: energy against tardiness for 1 to 4 GPUs in layout 3, EDF",
      "queues of 1,000 of the paper's jobs at a fixed rate per minute; the paper's curves carry no numbers; the chart "
      "has deadlines of U(1, 1.5)",
      {"rate per min", "GPUs", "energy kWh, U(1, 1.5)", "U(2, 4)", "mean tardiness min, U(1, 1.5)", "U(2, 4)"},
      {}};
  std::vector<ScatterPoint> points;
  const int rates[] = {1, 3, 6, 10};
  const auto seeds = seeds_from(kFirstReportSeed, std::size_t(std::min<std::int64_t>(options.days, 10)));
  for (std::size_t r = 0; r < std::size(rates); ++r)
    for (int gpus = 1; gpus <= 4; ++gpus) {
      progress("Fig. 4", double(r * 4 + std::size_t(gpus)) / 16);
      double energy[2] = {}, tardiness[2] = {};
      for (const int loose : {0, 1}) {
        SMARTMIG_TRY(const Setting setting,
                     paper_setting(fmt::format("paper:rate={},jobs=1000,slack={}", rates[r], loose ? kLoose : kTight),
                                   fmt::format("{}xa100-40gb", gpus)));
        SMARTMIG_TRY(const auto runs, run_paired(setting, {contender_of("static[3]+edf", {})}, seeds, options.threads));
        for (const Summary& day : runs[0]) {
          energy[loose] += day.energy_kwh / double(seeds.size());
          tardiness[loose] += day.mean_tardiness_min / double(seeds.size());
        }
      }
      section.rows.push_back({fmt::format("{}", rates[r]), fmt::format("{}", gpus), fmt::format("{:.2f}", energy[0]),
                              fmt::format("{:.2f}", energy[1]), fmt::format("{:.2f}", tardiness[0]),
                              fmt::format("{:.2f}", tardiness[1])});
      section.json.push_back({{"rate_per_min", rates[r]},
                              {"gpus", gpus},
                              {"slack_1_to_1.5", {{"energy_kwh", energy[0]}, {"mean_tardiness_min", tardiness[0]}}},
                              {"slack_2_to_4", {{"energy_kwh", energy[1]}, {"mean_tardiness_min", tardiness[1]}}}});
      points.push_back({energy[0], std::max(tardiness[0], 0.001), fmt::format("{}/min, {} GPU", rates[r], gpus),
                        fmt::format("k{}", r)});
    }
  section.why = "the paper's curves carry no numbers to compare with";
  section.svg = scatter_svg(points, "energy, kWh", "mean tardiness, minutes", {});
  return section;
}

}  // namespace smartmig
