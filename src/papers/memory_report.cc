#include "cli/simulate/reproduce_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/table.h"
#include "cli/verbs.h"
#include "eval/seeds.h"
#include "papers/memory_study.h"

namespace smartmig::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kWaiting = int(ForesightMethod::kWait);
constexpr const char* kGroups[] = {"tuning", "held out", "recorded"};

std::string share(int part, int whole) { return whole ? fmt::format("{:.1f} %", 100.0 * part / whole) : "-"; }

// 100 %: loses no more than who knows the peak; 0 %: no less than waiting for the failure.
double value(const Foresight& f, const Foresight& wait) {
  const double possible = wait.lost_s - wait.oracle_s;
  return possible > 0 ? (wait.lost_s - f.lost_s) / possible : 0;
}

std::vector<std::string> words(const Foresight& f, const Foresight& wait) {
  const int foreseen = f.doomed - f.missed;
  return {share(f.missed_heralded, f.heralded),
          share(f.missed, f.doomed),
          share(f.false_restarts, f.fitting),
          foreseen ? fmt::format("{:.1f} %", 100 * f.saved_share / foreseen) : "-",
          fmt::format("{:.1f}", f.lost_s / std::max(1, f.cases)),
          fmt::format("{:.1f} %", 100 * value(f, wait))};
}

OrderedJson foresight_json(const Foresight& f, const Foresight& wait) {
  const int foreseen = f.doomed - f.missed;
  return {{"cases", f.cases},
          {"doomed_attempts", f.doomed},
          {"fitting_attempts", f.fitting},
          {"heralded_failures", f.heralded},
          {"missed", f.missed},
          {"missed_heralded", f.missed_heralded},
          {"false_restarts", f.false_restarts},
          {"restarts_on_more_than_needed", f.over},
          {"mean_share_of_doomed_run_saved", foreseen ? OrderedJson(f.saved_share / foreseen) : OrderedJson(nullptr)},
          {"mean_lost_s", f.lost_s / std::max(1, f.cases)},
          {"mean_lost_s_of_an_oracle", wait.oracle_s / std::max(1, wait.cases)},
          {"value", value(f, wait)}};
}

}  // namespace

int reproduce_memory(const MemoryTableOptions& options) {
  MemoryStudyOptions study;
  study.cases_per_family = int(options.cases);
  study.seed = kFirstReportSeed;
  study.threads = options.threads;
  const auto families = study_memory(study);
  if (!families) return failure(families.error());
  Foresight sums[4][kForesightMethods];  // by group, then all
  for (const FamilyForesight& family : *families)
    for (int m = 0; m < kForesightMethods; ++m) {
      sums[family.group][m].add(family.by_method[m]);
      sums[3][m].add(family.by_method[m]);
    }
  if (options.json) {
    OrderedJson rows = OrderedJson::array(), groups = OrderedJson::array();
    for (const FamilyForesight& family : *families)
      for (int m = 0; m < kForesightMethods; ++m) {
        OrderedJson row{
            {"family", family.family}, {"group", kGroups[family.group]}, {"method", name_of(ForesightMethod(m))}};
        row.update(foresight_json(family.by_method[m], family.by_method[kWaiting]));
        rows.push_back(row);
      }
    for (int g = 0; g < 4; ++g)
      for (int m = 0; m < kForesightMethods; ++m) {
        OrderedJson row{{"group", g < 3 ? kGroups[g] : "all"}, {"method", name_of(ForesightMethod(m))}};
        row.update(foresight_json(sums[g][m], sums[g][kWaiting]));
        groups.push_back(row);
      }
    fmt::print(
        "{}\n",
        OrderedJson{{"seed", study.seed}, {"cases_per_family", options.cases}, {"groups", groups}, {"families", rows}}
            .dump(1));
    return 0;
  }
  fmt::print("{} jobs of unknown memory on slices of an A100-40GB; half of the first slices are too small (seed {})\n",
             sums[3][0].cases, study.seed);
  Table table({"curves", "cases", "method", "misses", "misses of all", "false restarts", "run saved", "lost s per job",
               "value"});
  for (int g = 0; g < 4; ++g)
    for (int m = 0; m < kForesightMethods; ++m) {
      std::vector<std::string> row{m       ? ""
                                   : g < 3 ? kGroups[g]
                                           : "all",
                                   m ? "" : std::to_string(sums[g][m].cases), name_of(ForesightMethod(m))};
      for (std::string& word : words(sums[g][m], sums[g][kWaiting])) row.push_back(std::move(word));
      table.add(std::move(row));
    }
  fmt::print("{}", table.text());
  fmt::print(
      "misses: attempts on too small a slice that ran into the failure, of those whose curve announces it; then of all."
      " false restarts: of\nattempts that would have fitted. run saved: how much of a doomed attempt was not run, "
      "where it"
      " was foreseen. lost: work thrown away\nand restarts. value: 100 % loses what an oracle does, which knows the "
      "peak"
      " and restarts at once ({:.1f} s per job); 0 % what waiting does.\n",
      sums[3][kWaiting].oracle_s / std::max(1, sums[3][kWaiting].cases));
  Table by_family({"family", "curves", "announced", "missed", "line", "false", "line", "lost s: ours", "line",
                   "recent line", "wait", "oracle"});
  for (const FamilyForesight& family : *families) {
    const Foresight &ours = family.by_method[int(ForesightMethod::kOurs)],
                    &line = family.by_method[int(ForesightMethod::kLine)], &wait = family.by_method[kWaiting];
    std::vector<std::string> row{family.family,
                                 kGroups[family.group],
                                 fmt::format("{}/{}", wait.heralded, wait.doomed),
                                 share(ours.missed_heralded, ours.heralded),
                                 share(line.missed_heralded, line.heralded),
                                 share(ours.false_restarts, ours.fitting),
                                 share(line.false_restarts, line.fitting)};
    for (const Foresight& f : family.by_method) row.push_back(fmt::format("{:.0f}", f.lost_s / std::max(1, f.cases)));
    row.push_back(fmt::format("{:.0f}", wait.oracle_s / std::max(1, wait.cases)));
    by_family.add(std::move(row));
  }
  fmt::print("{}", by_family.text());
  return 0;
}

}  // namespace smartmig::cli
