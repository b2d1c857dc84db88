#include "research/papers/far_experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "eval/experiment.h"
#include "eval/seeds.h"
#include "eval/statistics.h"
#include "research/papers/far_families.h"

namespace smartmig {
namespace {

constexpr const char* kFarPolicies[] = {"batch", "planner", "best"};
constexpr int kFarCounts[] = {15, 30};
constexpr int kStaticLayouts = 12;

struct FarCell {  // one family with one number of jobs
  const FarFamily* family = nullptr;
  int count = 0;
  std::vector<std::vector<double>> ratios;         // [policy][batch]: makespan / area bound
  std::vector<std::vector<double>> static_ratios;  // [layout][batch]
};

Result<Summary> run_far(const Setting& setting, const std::string& policy, std::shared_ptr<const JobTable> jobs) {
  return run_day(setting, contender_of(policy, {}), Day{0, std::move(jobs)});
}

Result<Ok> run_batch_of(const Setting& setting, FarCell& cell, std::size_t i, std::uint64_t seed) {
  auto batch = std::make_shared<Workload>(far_batch(*cell.family, cell.count, seed));
  const double bound_s = area_bound_s(*batch);
  SMARTMIG_TRY(JobTable table, JobTable::bind(batch, *setting.platform));
  const auto jobs = std::make_shared<const JobTable>(std::move(table));
  for (std::size_t p = 0; p < std::size(kFarPolicies); ++p) {
    SMARTMIG_TRY(const Summary summary, run_far(setting, kFarPolicies[p], jobs));
    cell.ratios[p][i] = summary.makespan_min * 60 / bound_s;
  }
  for (int layout = 1; layout <= kStaticLayouts; ++layout) {
    SMARTMIG_TRY(const Summary summary, run_far(setting, fmt::format("static[{}]+fifo", layout), jobs));
    cell.static_ratios[std::size_t(layout - 1)][i] = summary.makespan_min * 60 / bound_s;
  }
  return Ok{};
}

}  // namespace

Result<Ok> check_options(const FarOptions& options) {
  if (options.batches < 1 || options.batches > 1000) return invalid("--batches 1 to 1000");
  std::vector<std::string> names;
  for (const FarFamily& family : far_families()) names.emplace_back(family.name);
  if (!options.family.empty() && std::find(names.begin(), names.end(), options.family) == names.end())
    return invalid("unknown family '{}'; choose one of {}", options.family, fmt::join(names, ", "));
  return Ok{};
}

Result<PaperReport> far_report(const FarOptions& options, const PaperProgress& progress) {
  SMARTMIG_RETURN_IF_ERROR(check_options(options));
  Setting setting;
  SMARTMIG_TRY(Platform platform, Platform::parse("1xa100-40gb"));
  setting.platform = std::make_shared<Platform>(std::move(platform));
  setting.cost = CostModel{CostModel::kHardware, {}};
  const auto seeds = seeds_from(std::uint64_t(options.first_seed), std::size_t(options.batches));
  std::vector<FarCell> cells;
  for (const int count : kFarCounts)
    for (const FarFamily& family : far_families()) {
      if (!options.family.empty() && options.family != family.name) continue;
      const std::vector<double> row(seeds.size());
      cells.push_back({&family, count, std::vector(std::size(kFarPolicies), row), std::vector(kStaticLayouts, row)});
    }
  std::vector<Result<Ok>> done(cells.size() * seeds.size(), Result<Ok>(Ok{}));
  std::atomic<std::size_t> finished{0};
  run_parallel(done.size(), options.threads, [&](std::size_t i) {
    done[i] = run_batch_of(setting, cells[i / seeds.size()], i % seeds.size(), seeds[i % seeds.size()]);
    progress("batches", double(finished.fetch_add(1) + 1) / double(done.size()));
  });
  for (const auto& one : done)
    if (!one) return one.error();

  PaperReport report;
  report.title = fmt::format(
      "FAR's families on one A100-40GB, hardware costs: makespan over the area bound, mean of {} batches (seeds from "
      "{})",
      options.batches, options.first_seed);
  PaperSection section;
  section.name = "far";
  section.header = {"family", "jobs", "FAR prints"};
  for (const char* policy : kFarPolicies) section.header.emplace_back(policy);
  section.header.insert(section.header.end(), {"best static+fifo", "layout"});
  for (const FarCell& cell : cells) {
    const double printed = cell.count == 15 ? cell.family->printed_15 : cell.family->printed_30;
    std::vector<std::string> row = {cell.family->name, std::to_string(cell.count), fmt::format("{:.2f}", printed)};
    nlohmann::ordered_json json = {{"family", cell.family->name}, {"jobs", cell.count}, {"far", printed}};
    for (std::size_t p = 0; p < std::size(kFarPolicies); ++p) {
      row.push_back(fmt::format("{:.3f}", mean_of(cell.ratios[p])));
      json[kFarPolicies[p]] = mean_of(cell.ratios[p]);
    }
    std::size_t best = 0;
    for (std::size_t layout = 1; layout < cell.static_ratios.size(); ++layout)
      if (mean_of(cell.static_ratios[layout]) < mean_of(cell.static_ratios[best])) best = layout;
    row.push_back(fmt::format("{:.3f}", mean_of(cell.static_ratios[best])));
    row.push_back(std::to_string(best + 1));
    json["static_fifo"] = mean_of(cell.static_ratios[best]);
    json["static_layout"] = best + 1;
    section.rows.push_back(std::move(row));
    section.json.push_back(std::move(json));
  }
  report.sections.push_back(std::move(section));
  report.closing =
      "\nThe area bound lays every job on the size where it takes fewest slice-seconds and leaves no slice idle: no "
      "schedule is shorter.\nlayout: of the papers' twelve the one with the least mean, chosen after the fact.\n";
  return report;
}

}  // namespace smartmig
