#include "research/papers/all_papers.h"

#include <fmt/format.h>

#include <chrono>

#include "research/papers/kept_parts.h"
#include "research/papers/memory_report.h"
#include "research/papers/paper_marks.h"
#include "sim/kind_curve.h"

namespace smartmig {
namespace {

constexpr const char *kSmartMig = "SMART-MIG", *kOneMig = "one MIG", *kMigm = "MIGM";

struct PartOfPaper {
  const char* paper;
  PaperPart part;
};

// A result of a paper that no part measures.
struct Absent {
  const char *paper, *title, *mark, *why;
};
constexpr Absent kAbsent[] = {
    {kSmartMig, "Figs 1, 2 and 5", kMarkNotPossible, "what they show is not in the material that this project has"},
    {kOneMig, "Its other figures and tables", kMarkNotPossible,
     "of this paper only the three gains are known here: -68 %, -31 % and -26 %"},
    {kMigm, "Its figures on a real A100", kMarkNotPossible,
     "no A100 is at hand: batches run through the daemon on an emulated one"},
};

// Fig. 3: the illustrative kinds, as in the workload generator.
Result<std::vector<PaperSection>> curves_section() {
  struct Curve {
    const char* kind;
    double printed[5];  // on 1, 2, 3, 4 and 7 slices
  };
  constexpr Curve curves[] = {{"linear", {200, 400, 600, 800, 1400}},
                              {"sublinear", {150, 295, 430, 550, 770}},
                              {"capped", {100, 200, 300, 300, 300}}};
  constexpr int sizes[] = {1, 2, 3, 4, 7};
  PaperSection section;
  section.name = "fig3";
  section.title = "Fig. 3: illustrative kinds, throughput by slices";
  section.note = "an input: what the generator fixed: gives its jobs, paper / here";
  section.why = "the speed table has other values";
  section.header = {"kind", "1", "2", "3", "4", "7"};
  for (const Curve& curve : curves) {
    const KindCurve ours = curve_of(curve.kind, "a100-40gb");
    std::vector<std::string> cells{curve.kind};
    nlohmann::ordered_json json{{"kind", curve.kind}};
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
      const double here = ours.throughput[std::size_t(sizes[i] - 1)];
      cells.push_back(fmt::format("{:g} / {:g}", curve.printed[i], here));
      json["throughput"][std::to_string(sizes[i])] = here;
      section.claims.push_back(
          value_claim(fmt::format("{} on {} slices", curve.kind, sizes[i]), curve.printed[i], here));
    }
    section.rows.push_back(std::move(cells));
    section.json.push_back(std::move(json));
  }
  return std::vector<PaperSection>{section};
}

std::vector<PartOfPaper> all_parts(const AllPapersOptions& o) {
  std::vector<PartOfPaper> parts;
  parts.push_back({kSmartMig, {"a-fig3", {}, [](const PaperProgress&) { return curves_section(); }}});
  const auto add = [&](const char* paper, const char* prefix, std::vector<PaperPart> some) {
    for (PaperPart& part : some) {
      part.name = prefix + part.name;
      parts.push_back({paper, std::move(part)});
    }
  };
  add(kSmartMig, "a-", smart_mig_parts(o.a));
  parts.push_back({kSmartMig,
                   {"a-fig11",
                    {{"repetitions", o.fig11.repetitions},
                     {"slot_min", o.fig11.slot_min},
                     {"time_limit_s", o.fig11.time_limit_s},
                     {"branches", o.fig11.branches},
                     {"search_steps", o.fig11.search_steps}},
                    [o](const PaperProgress& progress) -> Result<std::vector<PaperSection>> {
                      SMARTMIG_TRY(PaperReport report, fig11_report(o.fig11, progress));
                      return std::move(report.sections);
                    }}});
  add(kOneMig, "b-", one_gpu_parts(o.b));
  add(kMigm, "c-", migm_parts(o.c));
  parts.push_back({kMigm,
                   {"c-memory",
                    {{"cases", o.memory_cases}},
                    [o](const PaperProgress& progress) -> Result<std::vector<PaperSection>> {
                      progress("memory", 0);
                      SMARTMIG_TRY(PaperReport report, memory_report(int(o.memory_cases), o.a.threads));
                      report.sections[0].title = "Early restart: " + report.sections[0].title;
                      for (PaperSection& section : report.sections) {
                        if (section.title.empty()) section.title = "Early restart, by family of memory curves";
                        section.why = "the paper prints no share of failures foreseen that is known here";
                      }
                      return std::move(report.sections);
                    }}});
  return parts;
}

}  // namespace

void make_small(AllPapersOptions& options) {
  options.a.days = options.b.days = 2;
  options.b.training_days = 2;
  options.c.batches = 1;
  options.c.jobs = 4;
  options.fig11.repetitions = 1;
  options.fig11.slot_min = 4;
  options.fig11.time_limit_s = 0;
  options.fig11.search_steps = 500;
  options.fig11.branches = 2;
  options.memory_cases = 1;
}

Result<PaperReport> all_papers_report(const AllPapersOptions& options, const PaperProgress& progress,
                                      const FinishedTold& told) {
  SMARTMIG_RETURN_IF_ERROR(check_options(options.c));
  const KeptParts kept(options.keep, options.program);
  const auto parts = all_parts(options);
  PaperReport report;
  report.title = "Three papers on MIG, printed and measured";
  report.note = fmt::format(
      "SMART-MIG: arXiv 2606.29775, one MIG: arXiv 2606.25082, MIGM: arXiv 2508.18556; {} report days; batches of each kind: {}, of "
      "{} jobs; "
      "cases of Fig. 11: {}. {}\n* a network whose critic knew the arrivals to come while it was trained; the controller itself "
      "does not",
      options.a.days, options.c.batches, options.c.jobs, options.fig11.repetitions, marks_in_words());
  const auto absent_of = [&](const char* paper) {
    for (const Absent& absent : kAbsent) {
      if (paper != std::string_view(absent.paper)) continue;
      PaperSection section;
      section.name = fmt::format("absent-{}", &absent - kAbsent);
      section.title = absent.title;
      section.paper = paper;
      section.mark = absent.mark;
      section.met = "-";
      section.why = absent.why;
      report.sections.push_back(std::move(section));
    }
  };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto begin = std::chrono::steady_clock::now();
    auto sections = kept.find(parts[i].part);
    const bool found = sections.has_value();
    if (!found) {
      SMARTMIG_TRY(sections, parts[i].part.run(progress));
      SMARTMIG_RETURN_IF_ERROR(kept.keep(parts[i].part, *sections));
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    told({parts[i].part.name, i + 1, parts.size(), found, took.count()});
    for (PaperSection& section : *sections) {
      section.paper = parts[i].paper;
      section.apart = true;
      mark_section(section);
      report.sections.push_back(std::move(section));
    }
    if (i + 1 == parts.size() || parts[i + 1].paper != parts[i].paper) absent_of(parts[i].paper);
  }
  report.closing = fmt::format("\nMIGM's tables. {}", kMigmWords);
  return report;
}

}  // namespace smartmig
