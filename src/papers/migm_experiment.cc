#include "cli/simulate/reproduce_c.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/progress.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "eval/seeds.h"
#include "eval/statistics.h"
#include "mig/catalog.h"
#include "papers/batch_experiment.h"

namespace smartmig::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct Scheduler {
  const char *label, *policy;
  bool profiled;
};
// The first is what the others are measured against.
constexpr Scheduler kSchedulers[] = {{"one at a time", "none+edf", false},
                                     {"migm-a", "migm-a", false},
                                     {"migm-b", "migm-b", false},
                                     {"ours: planner", "planner", false},
                                     {"ours: planner, jobs profiled", "planner", true},
                                     {"ours: batch", "batch", false},
                                     {"ours: batch, jobs profiled", "batch", true}};

struct Ratio {
  double mean = 0, half_width = 0;
};

struct BatchRow {
  const Scheduler* who = nullptr;
  std::vector<BatchOutcome> runs;
  Ratio throughput, work_per_joule, work_per_joule_by_speed;

  double mean(double BatchOutcome::*what) const {
    double sum = 0;
    for (const BatchOutcome& run : runs) sum += run.*what;
    return sum / double(runs.size());
  }
  double mean(std::uint64_t BatchOutcome::*what) const {
    double sum = 0;
    for (const BatchOutcome& run : runs) sum += double(run.*what);
    return sum / double(runs.size());
  }
};

struct BatchSection {
  const BatchKind* batch = nullptr;
  double bound = 0;
  std::vector<BatchRow> rows;
};

Ratio ratio_of(const BatchRow& base, const BatchRow& row, double BatchOutcome::*what) {
  std::vector<double> values;
  for (std::size_t i = 0; i < row.runs.size(); ++i) values.push_back(base.runs[i].*what / (row.runs[i].*what));
  Ratio out{mean_of(values), 0};
  if (values.size() > 1)
    out.half_width = student_t975(values.size() - 1) * deviation_of(values) / std::sqrt(double(values.size()));
  return out;
}

Result<BatchSection> measure(const BatchKind& batch, const MigmOptions& options, const GpuModel& model,
                             Progress& bar, double from, double share) {
  BatchSection section;
  section.batch = &batch;
  for (const Scheduler& who : kSchedulers) section.rows.push_back({&who, {}, {}, {}, {}});
  const auto seeds = seeds_from(std::uint64_t(options.first_seed), std::size_t(options.batches));
  double runs = 0;
  for (const std::uint64_t seed : seeds) {
    SMARTMIG_TRY(const std::vector<BatchJob> jobs, make_batch(batch.name, seed, int(options.jobs)));
    section.bound += throughput_bound(jobs, model) / double(seeds.size());
    for (BatchRow& row : section.rows) {
      BatchSetting setting;
      setting.gpus = options.gpus;
      setting.policy = row.who->policy;
      setting.profiled = row.who->profiled;
      SMARTMIG_TRY(const BatchOutcome outcome, run_batch(jobs, setting));
      row.runs.push_back(outcome);
      bar.set(from + share * ++runs / double(seeds.size() * section.rows.size()));
    }
  }
  for (BatchRow& row : section.rows) {
    row.throughput = ratio_of(section.rows[0], row, &BatchOutcome::makespan_s);
    row.work_per_joule = ratio_of(section.rows[0], row, &BatchOutcome::joules);
    row.work_per_joule_by_speed = ratio_of(section.rows[0], row, &BatchOutcome::joules_by_speed);
  }
  return section;
}

OrderedJson batch_json(const Ratio& ratio) { return {{"mean", ratio.mean}, {"half_width_95", ratio.half_width}}; }

OrderedJson batch_json(const BatchSection& section) {
  OrderedJson rows = OrderedJson::array();
  for (const BatchRow& row : section.rows) {
    int done = 0, failed = 0;
    for (const BatchOutcome& run : row.runs) done += run.done, failed += run.failed;
    rows.push_back({{"scheduler", row.who->label},
                    {"policy", row.who->policy},
                    {"throughput", batch_json(row.throughput)},
                    {"work_per_joule_by_speed", batch_json(row.work_per_joule_by_speed)},
                    {"work_per_joule_by_slices", batch_json(row.work_per_joule)},
                    {"makespan_s", row.mean(&BatchOutcome::makespan_s)},
                    {"joules_by_speed", row.mean(&BatchOutcome::joules_by_speed)},
                    {"joules_by_slices", row.mean(&BatchOutcome::joules)},
                    {"out_of_memory_restarts", row.mean(&BatchOutcome::out_of_memory)},
                    {"early_restarts", row.mean(&BatchOutcome::early)},
                    {"slice_operations", row.mean(&BatchOutcome::operations)},
                    {"lost_s", row.mean(&BatchOutcome::lost_s)},
                    {"done", done},
                    {"failed", failed}});
  }
  return {{"batch", section.batch->name},
          {"group", section.batch->group},
          {"words", section.batch->words},
          {"printed_throughput", section.batch->printed_throughput},
          {"printed_work_per_joule", section.batch->printed_energy},
          {"throughput_bound", section.bound},
          {"rows", rows}};
}

void print(const BatchSection& section) {
  const BatchKind& batch = *section.batch;
  fmt::print("{}: {}. Printed for {}: {:.2f}x / {:.2f}x. The curves allow {:.2f}x.\n", batch.name, batch.words,
             batch.group, batch.printed_throughput, batch.printed_energy, section.bound);
  Table table({"scheduler", "throughput", "work per J, by speed", "by slices", "makespan s", "kJ, by speed",
               "by slices", "out of memory", "early", "operations", "lost s"});
  const auto words = [](const Ratio& r) { return fmt::format("{:.2f}x ± {:.2f}", r.mean, r.half_width); };
  for (const BatchRow& row : section.rows)
    table.add({row.who->label, words(row.throughput), words(row.work_per_joule_by_speed), words(row.work_per_joule),
               fmt::format("{:.0f}", row.mean(&BatchOutcome::makespan_s)),
               fmt::format("{:.1f}", row.mean(&BatchOutcome::joules_by_speed) / 1e3),
               fmt::format("{:.1f}", row.mean(&BatchOutcome::joules) / 1e3),
               fmt::format("{:.1f}", row.mean(&BatchOutcome::out_of_memory)),
               fmt::format("{:.1f}", row.mean(&BatchOutcome::early)),
               fmt::format("{:.1f}", row.mean(&BatchOutcome::operations)),
               fmt::format("{:.0f}", row.mean(&BatchOutcome::lost_s))});
  fmt::print("{}", table.text());
  int failed = 0;
  for (const BatchRow& row : section.rows)
    for (const BatchOutcome& run : row.runs) failed += run.failed;
  fmt::print("{}\n\n", failed ? fmt::format("{} jobs FAILED", failed) : "every job done under every scheduler");
}

}  // namespace

int reproduce_c(const MigmOptions& options) {
  const std::string_view fleet(options.gpus);
  const std::size_t x = fleet.find('x');
  const std::string model_name(x == fleet.npos ? fleet : fleet.substr(x + 1));
  if (model_name != "a100-40gb" && model_name != "a100-80gb")
    return usage_error(invalid("--gpus {}: the curves are of A100s; for example 2xa100-40gb", options.gpus));
  const auto model = Catalog::builtin().find(model_name);
  if (!model) return usage_error(model.error());
  std::vector<const BatchKind*> wanted;
  for (const BatchKind& batch : batch_kinds())
    if (options.batch.empty() || options.batch == batch.name || options.batch == batch.group) wanted.push_back(&batch);
  if (wanted.empty()) return usage_error(make_batch(options.batch, 0, 1).error());
  std::vector<BatchSection> sections;
  {
    Progress bar("batches");
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const double share = 1.0 / double(wanted.size());
      auto section = measure(*wanted[i], options, **model, bar, share * double(i), share);
      if (!section) return failure(section.error());
      sections.push_back(std::move(*section));
    }
  }
  if (options.json) {
    OrderedJson batches = OrderedJson::array();
    for (const BatchSection& section : sections) batches.push_back(batch_json(section));
    fmt::print("{}\n", OrderedJson{{"gpus", options.gpus},
                                   {"seeds", {options.first_seed, options.first_seed + options.batches - 1}},
                                   {"jobs", options.jobs},
                                   {"batches", batches}}
                           .dump(1));
    return 0;
  }
  fmt::print(
      "MIGM (arXiv 2508.18556) on {} (emulated): {} batches of {} jobs of unknown memory each (seeds from {}), mean "
      "and "
      "95 % interval\nof the ratio to one job at a time on the whole GPU. printed: the paper's best batch of a "
      "group.\n\n",
      options.gpus, options.batches, options.jobs, options.first_seed);
  for (const BatchSection& section : sections) print(section);
  fmt::print(
      "by speed: a job's watts above idle are the whole GPU's in proportion to its speed, as measured on an H200 for "
      "decoding (seven at once: 1.65x the\nthroughput, 1.72x the watts above idle). by slices: the boards' counters, "
      "watts in proportion to busy slices, which flatters small ones.\nThe bound counts slices with memory known and "
      "packing perfect. operations: slices made and destroyed. lost: seconds of attempts that were restarted.\n");
  return 0;
}

}  // namespace smartmig::cli
