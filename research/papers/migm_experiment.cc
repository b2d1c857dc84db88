#include "research/papers/migm_experiment.h"

#include <fmt/format.h>

#include <cmath>

#include "eval/seeds.h"
#include "eval/statistics.h"
#include "mig/catalog.h"
#include "research/papers/batch_experiment.h"
#include "research/papers/paper_marks.h"

namespace smartmig {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct Scheduler {
  const char *label, *policy;
  JobsTold told;
  const char* early;  // oom.early
};
// The first is the baseline. MIGM's rows have the restarts that it describes: a line through its allocator's figures,
// up to the last iteration, whose number it knows.
constexpr Scheduler kSchedulers[] = {{"one at a time", "none+edf", JobsTold::kNothing, "projection"},
                                     {"migm-a", "migm-a", JobsTold::kIterations, "line"},
                                     {"migm-b", "migm-b", JobsTold::kIterations, "line"},
                                     {"migm-a, no early restart", "migm-a", JobsTold::kIterations, "off"},
                                     {"ours: best", "best:alone", JobsTold::kNothing, "projection"},
                                     {"ours: best, no early restart", "best:alone", JobsTold::kNothing, "off"},
                                     {"ours: best, iterations known", "best:alone", JobsTold::kIterations, "line"},
                                     {"ours: best, jobs profiled", "best:alone", JobsTold::kProfiled, "line"},
                                     {"ours: best, memory told, too", "best:alone", JobsTold::kMemory, "line"}};

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
  double bound = 0, energy_bound = 0;  // the most that the curves allow: throughput, work per joule by speed
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
    const double bound = throughput_bound(jobs, model);
    measured.bound += bound / double(seeds.size());
    for (BatchRow& row : measured.rows) {
      BatchSetting setting;
      setting.gpus = options.gpus;
      setting.policy = row.who->policy;
      setting.told = row.who->told;
      setting.early = row.who->early;
      SMARTMIG_TRY(const BatchOutcome outcome, run_batch(jobs, setting));
      row.runs.push_back(outcome);
      progress(fmt::format("batches of {}", batch.name), ++runs / double(seeds.size() * measured.rows.size()));
    }
    // A job's joules above idle are equal at every speed. So only idle watts can be saved, by a shorter time.
    const BatchOutcome& base = measured.rows[0].runs.back();
    measured.energy_bound +=
        base.joules_by_speed / (base.joules_by_speed - base.idle_joules * (1 - 1 / bound)) / double(seeds.size());
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
                    {"turnaround_s", row.mean(&BatchOutcome::turnaround_s)},
                    {"memory_used", row.mean(&BatchOutcome::memory_used)},
                    {"early_restart", row.who->early},
                    {"done", done},
                    {"failed", failed}});
  }
  return {{"batch", measured.batch->name},
          {"group", measured.batch->group},
          {"words", measured.batch->words},
          {"printed_throughput", measured.batch->printed_throughput},
          {"printed_work_per_joule", measured.batch->printed_energy},
          {"throughput_bound", measured.bound},
          {"work_per_joule_by_speed_bound", measured.energy_bound},
          {"rows", rows}};
}

// MIGM's schedulers against MIGM's printed figures; energy by the boards' counters, as in its measurements.
void add_claims(const MeasuredBatch& measured, PaperSection& section) {
  const BatchKind& batch = *measured.batch;
  for (const BatchRow& row : measured.rows) {
    const std::string policy = row.who->policy;
    if (!policy.starts_with("migm") || row.who->early == std::string_view("off")) continue;
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
  section.title = fmt::format(
      "{}: {}. Printed for {}: {:.2f}x / {:.2f}x. The curves allow {:.2f}x, "
      "{:.3f}x by speed.",
      batch.name, batch.words, batch.group, batch.printed_throughput, batch.printed_energy, measured.bound,
      measured.energy_bound);
  section.header = {"scheduler", "throughput",    "of most",      "work per J, by speed", "of most",
                    "by slices", "makespan s",    "turnaround s", "memory used",          "kJ, by speed",
                    "by slices", "out of memory", "early",        "operations",           "lost s"};
  const auto words = [](const Ratio& r) { return fmt::format("{:.2f}x ± {:.2f}", r.mean, r.half_width); };
  const auto of_most = [](const Ratio& r, double most) { return fmt::format("{:.0f} %", 100 * r.mean / most); };
  int failed = 0;
  for (const BatchRow& row : measured.rows) {
    section.rows.push_back({row.who->label, words(row.throughput), of_most(row.throughput, measured.bound),
                            words(row.work_per_joule_by_speed),
                            of_most(row.work_per_joule_by_speed, measured.energy_bound), words(row.work_per_joule),
                            fmt::format("{:.0f}", row.mean(&BatchOutcome::makespan_s)),
                            fmt::format("{:.0f}", row.mean(&BatchOutcome::turnaround_s)),
                            fmt::format("{:.1f} %", 100 * row.mean(&BatchOutcome::memory_used)),
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
    return invalid("--gpus {}: the curves are of A100s, so give for example 2xa100-40gb", options.gpus);
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
