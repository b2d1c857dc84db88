#include "research/papers/memory_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "eval/seeds.h"
#include "research/papers/memory_study.h"

namespace smartmig {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kWaiting = int(ForesightMethod::kWait);
constexpr const char* kGroups[] = {"tuning", "held out", "recorded"};

std::string share(int part, int whole) { return whole ? fmt::format("{:.1f} %", 100.0 * part / whole) : "-"; }

// 100 %: loses no more than with a known peak; 0 %: loses as much as waiting for the failure.
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

using SumsByGroup = Foresight[4][kForesightMethods];  // the three groups, then all

OrderedJson study_json(const std::vector<FamilyForesight>& families, const SumsByGroup& sums, std::uint64_t seed,
                       int cases) {
  OrderedJson rows = OrderedJson::array(), groups = OrderedJson::array();
  for (const FamilyForesight& family : families)
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
  return {{"seed", seed}, {"cases_per_family", cases}, {"groups", groups}, {"families", rows}};
}

PaperSection groups_section(const SumsByGroup& sums, std::uint64_t seed) {
  PaperSection section;
  section.name = "groups";
  section.title = fmt::format(
      "{} jobs of unknown memory on slices of an A100-40GB; half of the first slices are too small (seed {})",
      sums[3][0].cases, seed);
  section.header = {"curves",         "cases",     "method",         "misses", "misses of all",
                    "false restarts", "run saved", "lost s per job", "value"};
  section.apart = false;
  for (int g = 0; g < 4; ++g)
    for (int m = 0; m < kForesightMethods; ++m) {
      const std::string group = g < 3 ? kGroups[g] : "all";
      std::vector<std::string> row{m ? "" : group, m ? "" : std::to_string(sums[g][m].cases),
                                   name_of(ForesightMethod(m))};
      for (std::string& word : words(sums[g][m], sums[g][kWaiting])) row.push_back(std::move(word));
      section.rows.push_back(std::move(row));
    }
  section.below = fmt::format(
      "misses: attempts on too small a slice that ran into the failure, of those whose curve announces it; then of all."
      " false restarts: of\n"
      "attempts that would have fitted. run saved: how much of a doomed attempt was not run, where it was foreseen. "
      "lost: work thrown away\n"
      "and restarts. value: 100 % loses what an oracle does, which knows the peak and restarts at once ({:.1f} s per "
      "job); 0 % what waiting does.\n",
      sums[3][kWaiting].oracle_s / std::max(1, sums[3][kWaiting].cases));
  return section;
}

PaperSection families_section(const std::vector<FamilyForesight>& families) {
  PaperSection section;
  section.name = "families";
  section.header = {"family", "curves",       "announced", "missed",      "line", "false",
                    "line",   "lost s: ours", "line",      "recent line", "wait", "oracle"};
  section.apart = false;
  for (const FamilyForesight& family : families) {
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
    section.rows.push_back(std::move(row));
  }
  return section;
}

}  // namespace

Result<PaperReport> memory_report(int cases_per_family, int threads) {
  MemoryStudyOptions study;
  study.cases_per_family = cases_per_family;
  study.seed = kFirstReportSeed;
  study.threads = threads;
  SMARTMIG_TRY(const auto families, study_memory(study));
  SumsByGroup sums;
  for (const FamilyForesight& family : families)
    for (int m = 0; m < kForesightMethods; ++m) {
      sums[family.group][m].add(family.by_method[m]);
      sums[3][m].add(family.by_method[m]);
    }
  PaperReport report;
  report.sections = {groups_section(sums, study.seed), families_section(families)};
  report.json = study_json(families, sums, study.seed, cases_per_family);
  return report;
}

}  // namespace smartmig
