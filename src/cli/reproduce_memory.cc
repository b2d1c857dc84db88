#include "cli/reproduce_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/table.h"
#include "cli/verbs.h"
#include "eval/memory_study.h"
#include "eval/seeds.h"

namespace smartmig::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kGroups[] = {"tuning", "held out", "recorded"};

std::string share(int part, int whole) { return whole ? fmt::format("{:.1f} %", 100.0 * part / whole) : "-"; }

std::vector<std::string> words(const Foresight& f) {
  const int foreseen = f.doomed - f.missed;
  return {share(f.missed - f.sudden, f.doomed - f.sudden), share(f.false_restarts, f.fitting),
          foreseen ? fmt::format("{:.1f} %", 100 * f.saved_share / foreseen) : "-",
          fmt::format("{:.1f}", f.lost_s / std::max(1, f.cases))};
}

Json json_of(const Foresight& f) {
  const int foreseen = f.doomed - f.missed;
  return {{"cases", f.cases},
          {"doomed_attempts", f.doomed},
          {"fitting_attempts", f.fitting},
          {"sudden_failures", f.sudden},
          {"missed", f.missed - f.sudden},
          {"false_restarts", f.false_restarts},
          {"restarts_on_more_than_needed", f.over},
          {"mean_share_of_doomed_run_saved", foreseen ? Json(f.saved_share / foreseen) : Json(nullptr)},
          {"mean_lost_s", f.lost_s / std::max(1, f.cases)}};
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
    Json rows = Json::array(), groups = Json::array();
    for (const FamilyForesight& family : *families)
      for (int m = 0; m < kForesightMethods; ++m) {
        Json row{{"family", family.family}, {"group", kGroups[family.group]}, {"method", name_of(ForesightMethod(m))}};
        row.update(json_of(family.by_method[m]));
        rows.push_back(row);
      }
    for (int g = 0; g < 4; ++g)
      for (int m = 0; m < kForesightMethods; ++m) {
        Json row{{"group", g < 3 ? kGroups[g] : "all"}, {"method", name_of(ForesightMethod(m))}};
        row.update(json_of(sums[g][m]));
        groups.push_back(row);
      }
    fmt::print(
        "{}\n",
        Json{{"seed", study.seed}, {"cases_per_family", options.cases}, {"groups", groups}, {"families", rows}}.dump(
            1));
    return 0;
  }
  fmt::print("{} jobs of unknown memory on slices of an A100-40GB; half of the first slices are too small (seed {})\n",
             sums[3][0].cases, study.seed);
  Table table({"curves", "cases", "method", "misses", "false restarts", "run saved", "lost s per job"});
  for (int g = 0; g < 4; ++g)
    for (int m = 0; m < kForesightMethods; ++m) {
      std::vector<std::string> row{m       ? ""
                                   : g < 3 ? kGroups[g]
                                           : "all",
                                   m ? "" : std::to_string(sums[g][m].cases), name_of(ForesightMethod(m))};
      for (std::string& word : words(sums[g][m])) row.push_back(std::move(word));
      table.add(std::move(row));
    }
  fmt::print("{}", table.text());
  fmt::print(
      "misses: attempts on too small a slice that ran into the failure, of those that lived for {} samples. false "
      "restarts: of attempts that\nwould have fitted. run saved: how much of a doomed attempt was not run, where it "
      "was "
      "foreseen. lost: work thrown away and restarts.\n",
      kSudden);
  Table by_family({"lost s per job", "curves", "ours", "line", "recent line", "wait for failure"});
  for (const FamilyForesight& family : *families) {
    std::vector<std::string> row{family.family, kGroups[family.group]};
    for (const Foresight& f : family.by_method) row.push_back(fmt::format("{:.0f}", f.lost_s / std::max(1, f.cases)));
    by_family.add(std::move(row));
  }
  fmt::print("{}", by_family.text());
  return 0;
}

}  // namespace smartmig::cli
