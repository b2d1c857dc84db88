#include "research/papers/restart_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/rng.h"
#include "eval/experiment.h"
#include "research/research_files.h"

namespace smartmig {
namespace {

constexpr const char* kMethodNames[] = {"asked of the framework", "work and history", "device memory over time",
                                        "wait for failure"};

class RestartWatch {
 public:
  RestartWatch(const LlmJob& job, RestartMethod method) : job_(job), method_(method) {
    work_.set_allocator(job.family);
    for (const PastWork& past : asks() ? job.past_asked : job.past) work_.remember(past);
  }
  RestartVerdict look(const LlmTrace& trace, std::size_t i, double limit) {
    const RestartCosts costs{job_.restart_s, job_.at(i), job_.at(i)};
    if (method_ == RestartMethod::kWait) return {};
    if (method_ != RestartMethod::kTime) {
      work_.add(sample_of(job_, trace, i, asks()));
      return work_.verdict(limit, job_.expected_s, costs);
    }
    time_.add(job_.at(i), trace.device_mib[i]);
    return time_.verdict(limit, job_.expected_s, costs);
  }
  double needs_after_failure(double limit) const {
    if (method_ == RestartMethod::kWait) return limit;
    if (method_ != RestartMethod::kTime) return work_.needs(limit, job_.expected_s);
    return time_.forecast(job_.expected_s).quantile(0.5);
  }

 private:
  bool asks() const { return method_ == RestartMethod::kAsked; }

  const LlmJob& job_;
  RestartMethod method_;
  WorkProjection work_;
  MemoryProjection time_;
};

// Whether the failure is announced, by the rule of memory_study.h applied to what the job holds. A job that took its
// memory at the start, prints nothing of it and is not asked, shows nothing.
bool announced(const LlmJob& job, const LlmTrace& trace, double limit_mib, bool asked) {
  if (job.allocator == AllocatorKind::kPreallocated && !job.says_memory && !asked) return false;
  MemoryCurve curve;
  curve.duration_s = job.duration_s;
  curve.mib = trace.held_mib;
  return heralded(curve, curve.mib.size(), limit_mib * (job.allocator == AllocatorKind::kPreallocated ? 0.75 : 1));
}

std::string percent(int part, int whole) { return whole ? fmt::format("{:.1f} %", 100.0 * part / whole) : "-"; }

struct RestartRow {
  std::string group, name;
  std::array<Foresight, kRestartMethods> by_method;
};

void fill_section(PaperSection& section, const RestartRow& row) {
  const double waited = row.by_method[int(RestartMethod::kWait)].lost_s;
  for (std::size_t m = 0; m < kRestartMethods; ++m) {
    const Foresight& f = row.by_method[m];
    const double cases = std::max(1, f.cases), of_waiting = waited > 0 ? f.lost_s / waited : 0;
    section.rows.push_back({m ? "" : row.group, m ? "" : row.name, m ? "" : std::to_string(f.cases), kMethodNames[m],
                            std::to_string(f.heralded), percent(f.missed_heralded, f.heralded),
                            percent(f.missed, f.doomed), percent(f.false_restarts, f.fitting),
                            percent(f.false_restarts, f.asked), fmt::format("{:.1f}", f.lost_s / cases),
                            waited > 0 ? fmt::format("{:.2f}", of_waiting) : "-",
                            fmt::format("{:.1f}", f.oracle_s / cases)});
    section.json.push_back({{"group", row.group},
                            {"name", row.name},
                            {"method", kMethodNames[m]},
                            {"cases", f.cases},
                            {"doomed_attempts", f.doomed},
                            {"announced_failures", f.heralded},
                            {"missed_announced", f.missed_heralded},
                            {"missed", f.missed},
                            {"fitting_attempts", f.fitting},
                            {"asked_attempts", f.asked},
                            {"false_restarts", f.false_restarts},
                            {"mean_lost_s", f.lost_s / cases},
                            {"lost_over_waiting", of_waiting}});
  }
}

std::vector<std::string> study_header() {
  return {"",
          "",
          "jobs",
          "method",
          "announced",
          "missed",
          "missed of all",
          "false restarts",
          "of asked",
          "lost s per job",
          "of waiting",
          "oracle s"};
}

std::string bars(const RestartRow& all) {
  std::string out;
  const Foresight& wait = all.by_method[int(RestartMethod::kWait)];
  for (const RestartMethod method : {RestartMethod::kAsked, RestartMethod::kWork}) {
    const Foresight& ours = all.by_method[std::size_t(method)];
    const auto bar = [&](const char* what, double is, double most) {
      out += fmt::format("{}: {} {:.1f} %, the bar is {:.0f} %: {}\n", kMethodNames[int(method)], what, 100 * is,
                         100 * most, is <= most ? "kept" : "not kept");
    };
    bar("missed", double(ours.missed_heralded) / std::max(1, ours.heralded), 0.15);
    bar("false restarts", double(ours.false_restarts) / std::max(1, ours.fitting), 0.05);
    bar("seconds lost, of waiting", ours.lost_s / std::max(1e-9, wait.lost_s), 0.50);
  }
  return out;
}

Result<std::vector<RecordedRun>> runs_of(RecordedPart part) {
  const char* round = part == RecordedPart::kReport ? "_2" : "";
  return parse_recorded_runs(research_file(fmt::format("llm_runs{}.csv", round)),
                             research_file(fmt::format("llm_series{}.csv", round)));
}

}  // namespace

Result<PaperSection> recorded_section(RecordedPart part, int threads) {
  SMARTMIG_TRY(const std::vector<RecordedRun> runs, runs_of(part));
  SMARTMIG_TRY(const std::vector<RecordedRun> tuned, runs_of(RecordedPart::kTuning));
  std::set<std::string> tuned_kinds, allocators;
  for (const RecordedRun& run : tuned) tuned_kinds.insert(run.kind);
  for (const RecordedRun& run : runs) allocators.insert(run.allocator);
  std::vector<RecordedCase> cases = recorded_cases(runs, part, false);
  const std::size_t alone = cases.size();
  for (const RecordedCase& one : recorded_cases(runs, part, true)) cases.push_back(one);
  std::vector<std::array<Foresight, kRestartMethods>> found(cases.size());
  run_parallel(cases.size(), threads, [&](std::size_t c) {
    for (std::size_t m = 0; m < kRestartMethods; ++m) found[c][m] = judge_recorded(cases[c], RestartMethod(m));
  });
  std::map<std::pair<std::string, std::string>, RestartRow> rows;
  for (std::size_t c = 0; c < cases.size(); ++c) {
    const RecordedRun& run = *cases[c].run;
    const char* known = c < alone ? "without earlier runs" : "with earlier runs";
    for (const auto& [group, name] : {std::pair<std::string, std::string>{"all", ""},
                                      {"known", known},
                                      {"tuned on", tuned_kinds.count(run.kind) ? "such programs" : "no such program"},
                                      {"allocator", run.allocator},
                                      {"program", run.kind}}) {
      RestartRow& row = rows[{group, name}];
      row.group = group;
      row.name = name;
      for (std::size_t m = 0; m < kRestartMethods; ++m) row.by_method[m].add(found[c][m]);
    }
  }
  PaperSection section;
  section.name = "recorded";
  section.title = fmt::format("{} cases from LLM programs recorded on an H200 under {} allocators ({})", cases.size(),
                              allocators.size(),
                              part == RecordedPart::kReport ? "report: the second round" : "tuning: the first round");
  section.header = study_header();
  for (const char* group : {"all", "known", "tuned on", "allocator", "program"})
    for (const auto& [key, row] : rows)
      if (key.first == group) fill_section(section, row);
  section.below = "limits: as recorded, and set afterwards where that is exact (recorded_llm.h). One restart a case.\n";
  if (!cases.empty()) section.below += bars(rows.at({"all", ""}));
  return section;
}

Foresight judge_llm_job(const LlmJob& job, RestartMethod method) {
  const std::vector<double> ladder = memory_ladder();
  Foresight result;
  result.cases = 1;
  std::size_t slice = job.first_slice;
  for (int attempt = 0;; ++attempt) {
    const double limit = ladder[slice];
    const LlmTrace trace = run_on(job, limit);
    const std::size_t failure = trace.device_mib.size();
    if (trace.failed && slice + 1 == ladder.size()) return result;  // there is no larger slice
    ++(trace.failed ? result.doomed : result.fitting);
    result.asked += !trace.failed && slice + 1 < ladder.size();
    const bool seen_coming = trace.failed && announced(job, trace, limit, method == RestartMethod::kAsked);
    result.heralded += seen_coming;
    if (trace.failed && attempt == 0) result.oracle_s = job.restart_s;
    RestartWatch watch(job, method);
    RestartVerdict verdict;
    std::size_t at = kLlmSampleEvery - 1;
    for (; at < failure && slice + 1 < ladder.size(); at += kLlmSampleEvery) {
      verdict = watch.look(trace, at, limit);
      if (verdict.restart) break;
    }
    if (!verdict.restart && !trace.failed) return result;
    if (verdict.restart) {
      result.false_restarts += !trace.failed;
      if (trace.failed) result.saved_share += 1 - job.at(at) / job.at(failure);
    } else {
      ++result.missed;
      result.missed_heralded += seen_coming;
      verdict.needs_mib = watch.needs_after_failure(limit);
    }
    result.lost_s += job.at(verdict.restart ? at : failure) + job.restart_s;
    ++slice;
    while (slice + 1 < ladder.size() && ladder[slice] < verdict.needs_mib) ++slice;
  }
}

PaperReport restart_report(const RestartStudyOptions& options) {
  struct Cell {
    LlmSchedule schedule;
    AllocatorKind allocator;
    std::array<Foresight, kRestartMethods> by_method;
    std::array<std::array<Foresight, kRestartMethods>, 4> by_words;
  };
  std::vector<Cell> cells;
  for (int a = 0; a < kAllocatorKinds; ++a)
    for (int s = 0; s < kLlmSchedules; ++s)
      if (possible(LlmSchedule(s), AllocatorKind(a))) cells.push_back({LlmSchedule(s), AllocatorKind(a), {}, {}});
  run_parallel(cells.size(), options.threads, [&](std::size_t c) {
    for (int i = 0; i < options.cases; ++i) {
      const LlmJob job =
          make_llm_job(cells[c].schedule, cells[c].allocator, mix64(options.first_seed + std::uint64_t(i), c));
      for (std::size_t m = 0; m < kRestartMethods; ++m) {
        const Foresight f = judge_llm_job(job, RestartMethod(m));
        cells[c].by_method[m].add(f);
        cells[c].by_words[std::size_t((job.prints() ? 2 : 0) + (job.past.empty() ? 0 : 1))][m].add(f);
      }
    }
  });
  constexpr const char* kWords[] = {"nothing", "earlier runs", "its words", "its words and earlier runs"};
  std::vector<RestartRow> rows = {{"all", "", {}}};
  for (const char* words : kWords) rows.push_back({"known", words, {}});
  for (int a = 0; a < kAllocatorKinds; ++a) rows.push_back({"allocator", name_of(AllocatorKind(a)), {}});
  for (int s = 0; s < kLlmSchedules; ++s) rows.push_back({"schedule", name_of(LlmSchedule(s)), {}});
  for (const Cell& cell : cells)
    for (std::size_t m = 0; m < kRestartMethods; ++m) {
      rows[0].by_method[m].add(cell.by_method[m]);
      for (std::size_t w = 0; w < 4; ++w) rows[1 + w].by_method[m].add(cell.by_words[w][m]);
      rows[5 + std::size_t(cell.allocator)].by_method[m].add(cell.by_method[m]);
      rows[5 + kAllocatorKinds + std::size_t(cell.schedule)].by_method[m].add(cell.by_method[m]);
    }
  PaperReport report;
  PaperSection section;
  section.name = "early restarts";
  section.title = fmt::format("{} made LLM jobs on slices of an A100-40GB: {} allocators, {} schedules (seeds from {})",
                              rows[0].by_method[0].cases, kAllocatorKinds, kLlmSchedules, options.first_seed);
  section.header = study_header();
  section.apart = false;
  for (const RestartRow& row : rows) fill_section(section, row);
  section.below =
      "announced: failures that can be seen coming in what the job holds (docs/memory.md); missed: of those, then "
      "of all. false restarts: of attempts that fit, then of those of them that were not on the largest slice. lost: work thrown away and restarts.\n" +
      bars(rows[0]);
  report.sections = {section};
  report.json = {{"first_seed", options.first_seed}, {"cases", options.cases}, {"rows", section.json}};
  return report;
}

}  // namespace smartmig
