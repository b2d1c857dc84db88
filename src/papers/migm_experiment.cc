#include "papers/migm_experiment.h"

#include <fmt/format.h>

#include <cmath>

#include "eval/seeds.h"
#include "eval/statistics.h"
#include "mig/catalog.h"
#include "papers/batch_experiment.h"
#include "papers/paper_marks.h"

namespace smartmig {
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

struct MeasuredBatch {
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

Result<MeasuredBatch> measure(const BatchKind& batch, const MigmOptions& options, const GpuModel& model,
                              const PaperProgress& progress) {
  MeasuredBatch measured;
  measured.batch = &batch;
  for (const Scheduler& who : kSchedulers) measured.rows.push_back({&who, {}, {}, {}, {}});
  const auto seeds = seeds_from(std::uint64_t(options.first_seed), std::size_t(options.batches));
  double runs = 0;
  for (const std::uint64_t seed : seeds) {
    SMARTMIG_TRY(const std::vector<BatchJob> jobs, make_batch(batch.name, seed, int(options.jobs)));
    measured.bound += throughput_bound(jobs, model) / double(seeds.size());
    for (BatchRow& row : measured.rows) {
      BatchSetting setting;
      setting.gpus = options.gpus;
      setting.policy = row.who->policy;
      setting.profiled = row.who->profiled;
      SMARTMIG_TRY(const BatchOutcome outcome, run_batch(jobs, setting));
      row.runs.push_back(outcome);
      progress(fmt::format("batches of {}", batch.name), ++runs / double(seeds.size() * measured.rows.size()));
    }
  }
  for (BatchRow& row : measured.rows) {
    row.throughput = ratio_of(measured.rows[0], row, &BatchOutcome::makespan_s);
    row.work_per_joule = ratio_of(measured.rows[0], row, &BatchOutcome::joules);
    row.work_per_joule_by_speed = ratio_of(measured.rows[0], row, &BatchOutcome::joules_by_speed);
  }
  return measured;
}

OrderedJson json_of(const Ratio& ratio) { return {{"mean", ratio.mean}, {"half_width_95", ratio.half_width}}; }

OrderedJson json_of(const MeasuredBatch& measured) {
  OrderedJson rows = OrderedJson::array();
  for (const BatchRow& row : measured.rows) {
    int done = 0, failed = 0;
    for (const BatchOutcome& run : row.runs) done += run.done, failed += run.failed;
    rows.push_back({{"scheduler", row.who->label},
                    {"policy", row.who->policy},
                    {"throughput", json_of(row.throughput)},
                    {"work_per_joule_by_speed", json_of(row.work_per_joule_by_speed)},
                    {"work_per_joule_by_slices", json_of(row.work_per_joule)},
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
  return {{"batch", measured.batch->name},
          {"group", measured.batch->group},
          {"words", measured.batch->words},
          {"printed_throughput", measured.batch->printed_throughput},
          {"printed_work_per_joule", measured.batch->printed_energy},
          {"throughput_bound", measured.bound},
          {"rows", rows}};
}

// MIGM's schedulers against what MIGM prints; energy by the boards' counters, as it was measured there.
void add_claims(const MeasuredBatch& measured, PaperSection& section) {
  const BatchKind& batch = *measured.batch;
  for (const BatchRow& row : measured.rows) {
    const std::string policy = row.who->policy;
    if (!policy.starts_with("migm")) continue;
    for (PaperClaim claim : {ratio_claim("throughput", batch.printed_throughput, row.throughput.mean),
                             ratio_claim("work per joule by slices", batch.printed_energy, row.work_per_joule.mean)}) {
      claim.reading = policy;
      section.claims.push_back(std::move(claim));
    }
  }
  section.why = fmt::format(
      "printed is the best batch of the group on an A100; the paper's programs are not known here: "
      "measured curves with assumed memory, of which {:.2f}x is the most that any scheduler could make",
      measured.bound);
}

PaperSection section_of(const MeasuredBatch& measured) {
  const BatchKind& batch = *measured.batch;
  PaperSection section;
  section.name = batch.name;
  section.title = fmt::format("{}: {}. Printed for {}: {:.2f}x / {:.2f}x. The curves allow {:.2f}x.", batch.name,
                              batch.words, batch.group, batch.printed_throughput, batch.printed_energy, measured.bound);
  section.header = {"scheduler",    "throughput", "work per J, by speed", "by slices", "makespan s",
                    "kJ, by speed", "by slices",  "out of memory",        "early",     "operations",
                    "lost s"};
  const auto words = [](const Ratio& r) { return fmt::format("{:.2f}x ± {:.2f}", r.mean, r.half_width); };
  int failed = 0;
  for (const BatchRow& row : measured.rows) {
    section.rows.push_back({row.who->label, words(row.throughput), words(row.work_per_joule_by_speed),
                            words(row.work_per_joule), fmt::format("{:.0f}", row.mean(&BatchOutcome::makespan_s)),
                            fmt::format("{:.1f}", row.mean(&BatchOutcome::joules_by_speed) / 1e3),
                            fmt::format("{:.1f}", row.mean(&BatchOutcome::joules) / 1e3),
                            fmt::format("{:.1f}", row.mean(&BatchOutcome::out_of_memory)),
                            fmt::format("{:.1f}", row.mean(&BatchOutcome::early)),
                            fmt::format("{:.1f}", row.mean(&BatchOutcome::operations)),
                            fmt::format("{:.0f}", row.mean(&BatchOutcome::lost_s))});
    for (const BatchOutcome& run : row.runs) failed += run.failed;
  }
  section.below = failed ? fmt::format("{} jobs FAILED\n", failed) : "every job done under every scheduler\n";
  section.json = json_of(measured);
  add_claims(measured, section);
  return section;
}

std::vector<const BatchKind*> wanted_batches(const MigmOptions& options) {
  std::vector<const BatchKind*> wanted;
  for (const BatchKind& batch : batch_kinds())
    if (options.batch.empty() || options.batch == batch.name || options.batch == batch.group) wanted.push_back(&batch);
  return wanted;
}

Result<std::shared_ptr<const GpuModel>> model_of(const MigmOptions& options) {
  const std::string_view fleet(options.gpus);
  const std::size_t x = fleet.find('x');
  const std::string name(x == fleet.npos ? fleet : fleet.substr(x + 1));
  if (name != "a100-40gb" && name != "a100-80gb")
    return invalid("--gpus {}: the curves are of A100s; for example 2xa100-40gb", options.gpus);
  return Catalog::builtin().find(name);
}

}  // namespace

Result<Ok> check_options(const MigmOptions& options) {
  SMARTMIG_RETURN_IF_ERROR(model_of(options));
  if (wanted_batches(options).empty()) return make_batch(options.batch, 0, 1).error();
  return Ok{};
}

std::vector<PaperPart> migm_parts(const MigmOptions& options) {
  std::vector<PaperPart> parts;
  for (const BatchKind* batch : wanted_batches(options))
    parts.push_back({batch->name,
                     {{"gpus", options.gpus},
                      {"batches", options.batches},
                      {"jobs", options.jobs},
                      {"first_seed", options.first_seed}},
                     [batch, options](const PaperProgress& progress) -> Result<std::vector<PaperSection>> {
                       SMARTMIG_TRY(const auto model, model_of(options));
                       SMARTMIG_TRY(const MeasuredBatch measured, measure(*batch, options, *model, progress));
                       return std::vector<PaperSection>{section_of(measured)};
                     }});
  return parts;
}

Result<PaperReport> migm_report(const MigmOptions& options, const PaperProgress& progress) {
  SMARTMIG_RETURN_IF_ERROR(check_options(options));
  PaperReport report;
  report.title = fmt::format(
      "MIGM (arXiv 2508.18556) on {} (emulated): {} batches of {} jobs of unknown memory each (seeds from {}), mean "
      "and 95 % interval",
      options.gpus, options.batches, options.jobs, options.first_seed);
  report.note = "of the ratio to one job at a time on the whole GPU. printed: the paper's best batch of a group.";
  SMARTMIG_TRY(report.sections, run_parts(migm_parts(options), progress));
  OrderedJson batches = OrderedJson::array();
  for (const PaperSection& section : report.sections) batches.push_back(section.json);
  report.closing = std::string("\n") + kMigmWords;
  report.json = {{"gpus", options.gpus},
                 {"seeds", {options.first_seed, options.first_seed + options.batches - 1}},
                 {"jobs", options.jobs},
                 {"batches", batches}};
  return report;
}

}  // namespace smartmig
