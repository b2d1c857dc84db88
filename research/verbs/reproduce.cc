#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>

#include "base/file.h"
#include "base/rng.h"
#include "cli/progress.h"
#include "cli/simulate/run_options.h"
#include "eval/seeds.h"
#include "research/papers/all_papers.h"
#include "research/papers/far_experiment.h"
#include "research/papers/learning_report.h"
#include "research/papers/memory_report.h"
#include "research/papers/migbench_experiment.h"
#include "research/papers/migm_experiment.h"
#include "research/papers/one_gpu.h"
#include "research/papers/restart_study.h"
#include "research/papers/smart_mig.h"
#include "research/papers/smart_mig_fig11.h"
#include "research/papers/smart_mig_static.h"
#include "research/papers/tiny_bounds.h"
#include "research/verbs/research_verbs.h"
#include "research/verbs/show_paper_report.h"

namespace smartmig::cli {
namespace {

struct ReproduceOptions {
  std::string what, html, keep = "smartmig-reproduce";
  bool json = false, force = false, small = false;
  std::int64_t days = 30, cases = 60, threads = default_threads();
  SmartMigOptions smart_mig;
  StaticTablesOptions tables;
  Fig11Options fig11;
  MigmOptions migm;
  FarOptions far;
  LearningOptions learning;
  std::int64_t batches = 0, first_seed = 0;  // 0: the experiment's own
};

// The experiments by their short names. Some have a second name, after the subject of the paper.
struct ExperimentName {
  const char *name, *alias;
};
constexpr ExperimentName kExperiments[] = {{"all", ""},    {"a", "smart-mig"}, {"b", "one-gpu"}, {"c", "migm"},
                                           {"far", ""},    {"a-static", ""},   {"a-fig11", ""},  {"bounds-tiny", ""},
                                           {"memory", ""}, {"migbench", ""},   {"learning", ""}, {"restart", ""}};

Result<std::string> experiment_named(const std::string& text) {
  std::string known;
  for (const ExperimentName& one : kExperiments) {
    const std::string_view alias(one.alias);
    if (text == one.name || (!alias.empty() && text == alias)) return std::string(one.name);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", one.name);
    if (!alias.empty()) known += fmt::format(" or {}", alias);
  }
  return invalid("'{}' must be one of {}", text, known);
}

// A bar for the current part of the experiment. Thread-safe.
class PartProgress {
 public:
  void set(std::string_view part, double share) {
    const std::lock_guard lock(mutex_);
    if (!bar_ || part != part_) {
      part_ = part;
      bar_.reset();
      bar_ = std::make_unique<Progress>(part_);
    }
    bar_->set(share);
  }

 private:
  std::mutex mutex_;
  std::string part_;
  std::unique_ptr<Progress> bar_;
};

Result<Ok> check_ranges(const ReproduceOptions& o) {
  if (o.days < 2 || o.days > 10'000 || o.threads < 1 || o.threads > 1024)
    return invalid("--days must be 2 to 10000, and -j 1 to 1024");
  std::error_code ignored;
  if (!o.html.empty() && !o.force && std::filesystem::exists(o.html, ignored))
    return invalid("{} exists; choose another file or add --force", o.html);
  if (o.what == "c" || o.what == "all") {
    if (o.migm.batches < 1 || o.migm.batches > 1000 || o.migm.jobs < 1 || o.migm.jobs > 1000)
      return invalid("--batches and --batch-jobs must be 1 to 1000");
    SMARTMIG_RETURN_IF_ERROR(check_options(o.migm));
  }
  if (o.what == "far") return check_options(o.far);
  if (o.what == "a-static") return check_options(o.tables);
  if (o.what == "learning") return check_options(o.learning);
  const bool all = o.what == "all";
  if ((all || o.what == "memory" || o.what == "restart") && (o.cases < 1 || o.cases > 100'000))
    return invalid("--cases 1 to 100000");
  if ((all || o.what == "a-fig11") &&
      (o.fig11.repetitions < 1 || o.fig11.repetitions > 10'000 || o.fig11.slot_min < 0.01 || o.fig11.slot_min > 60 ||
       o.fig11.time_limit_s < 0 || o.fig11.branches < 0 || o.fig11.branches > 100'000))
    return invalid(
        "--repetitions must be 1 to 10000, --slot 0.01 to 60 minutes, --time-limit at least 0, "
        "and --branches 0 to 100000");
  return Ok{};
}

// Identifies the program, so that results of another build are not reused.
Result<std::string> program_in_words() {
  SMARTMIG_TRY(const std::string bytes, read_file("/proc/self/exe"));
  std::uint64_t hash = bytes.size();
  for (const char c : bytes) hash = mix64(hash, std::uint64_t(static_cast<unsigned char>(c)));
  return fmt::format("{} {:016x}", SMARTMIG_VERSION, hash);
}

Result<PaperReport> run_all(const ReproduceOptions& o, const PaperProgress& progress) {
  AllPapersOptions all;
  all.a = o.smart_mig;
  all.fig11 = o.fig11;
  all.b = {o.days, int(o.threads)};
  all.c = o.migm;
  all.memory_cases = o.cases;
  if (o.small) make_small(all);
  all.keep = o.keep;
  SMARTMIG_TRY(all.program, program_in_words());
  return all_papers_report(all, progress, [](const FinishedPart& part) {
    fmt::print(stderr, "{:>2} of {} {}: {}\n", part.number, part.of, part.name,
               part.kept ? "kept from before" : fmt::format("{:.1f} s", part.seconds));
  });
}

Result<PaperReport> run_experiment(const ReproduceOptions& o) {
  PartProgress bars;
  const PaperProgress progress = [&bars](std::string_view part, double share) { bars.set(part, share); };
  if (o.what == "all") return run_all(o, progress);
  if (o.what == "a") return smart_mig_report(o.smart_mig, progress);
  if (o.what == "b") return one_gpu_report({o.days, int(o.threads)}, progress);
  if (o.what == "c") return migm_report(o.migm, progress);
  if (o.what == "far") return far_report(o.far, progress);
  if (o.what == "migbench") return migbench_report({o.batches == 0 ? 1 : o.batches, int(o.threads)}, progress);
  if (o.what == "a-static") return static_tables_report(o.tables, progress);
  if (o.what == "a-fig11") return fig11_report(o.fig11, progress);
  if (o.what == "bounds-tiny") return tiny_bounds_report(int(o.threads), progress);
  if (o.what == "learning") return learning_report(o.learning, progress);
  if (o.what == "restart") {
    const std::uint64_t seed = o.first_seed ? std::uint64_t(o.first_seed) : kFirstReportSeed;
    PaperReport report = restart_report({int(o.cases), seed, int(o.threads)});
    const RecordedPart part = seed < kFirstReportSeed ? RecordedPart::kTuning : RecordedPart::kReport;
    SMARTMIG_TRY(const PaperSection recorded, recorded_section(part, int(o.threads)));
    report.json["recorded"] = recorded.json;
    report.sections.push_back(recorded);
    return report;
  }
  return memory_report(int(o.cases), int(o.threads));
}

}  // namespace

int run_reproduce(const Arguments& arguments) {
  ReproduceOptions o;
  Command command(
      "lab reproduce", "all|a|b|c|far|migbench|a-static|a-fig11|bounds-tiny|memory|restart|learning",
      "Compares the figures that the papers print with those that smartmig measures on report days.\n\n  all           every figure and table of the three papers, marked as reproduced, different or not possible here, with\n                the reason; finished parts are kept, so that the same command continues after an interruption\n  a, smart-mig  every table and figure of SMART-MIG\n  b, one-gpu    one GPU through a day\n  c, migm       MIGM's batches of jobs with unknown memory, run by the daemon on emulated A100s\n  far           FAR's batches of moldable jobs on one A100\n  migbench      MIGBench's 500 jobs on 8 H100s, compared with the NVIDIA DRA driver and HAMi\n  a-static      static partitions only\n  a-fig11       the tardiness bound of Fig. 11\n  bounds-tiny   how tight the bounds are where the optimum is known\n  memory        predictions that a job will not fit its slice\n  restart       the same for LLM jobs under several allocators, with what they print and with earlier runs\n  learning      what is learned about undescribed commands, and what the queue loses until then",
      "smartmig lab reproduce all --html papers.html");
  command.positional(o.what);
  command.option("--days", o.days, "N", "number of days: report seeds from 200000 on");
  command.option("--table", o.tables.table, "NAME",
                 "a-static: print only this table: 20x, 16x, 12x, fig6, fig7, fig8, fig9 or fig10");
  command.option("--repetitions", o.fig11.repetitions, "N",
                 "a-fig11: number of repetitions: report seeds from 200000 on");
  command.option("--slot", o.fig11.slot_min, "MIN", "a-fig11: length of a time slot of the program in minutes");
  command.option("--time-limit", o.fig11.time_limit_s, "S",
                 "a-fig11: seconds for cuts and branching after the relaxation, for each instance and bound");
  command.option("--branches", o.fig11.branches, "N",
                 "a-fig11: branches for the bound by whole runs, for each instance and bound");
  command.option("--bound-days", o.smart_mig.bound_days, "N", "a: prove the ET bound of N days and print the gaps");
  command.option("--cases", o.cases, "N",
                 "memory, restart: number of jobs for each family of curves, or for each allocator and schedule");
  command.option("--commands", o.learning.commands, "N", "learning: number of commands whose times are predicted");
  command.option("--sites", o.learning.sites, "N", "learning: number of queues with 25 commands each");
  command.option("--rounds", o.learning.rounds, "N", "learning: number of rounds for each queue");
  command.option("--gpus", o.migm.gpus, "FLEET", "c: A100s to use, such as 2xa100-40gb");
  command.option(
      "--batch", o.migm.batch, "NAME",
      "c: run only this batch or group: general, ml, llm, ...; far: run only this family: good, bad, mix, extreme or wide");
  command.option("--batches", o.batches, "N",
                 "c, far: number of batches of each kind (0: 5 and 10); migbench: number of seeds (0: 1)");
  command.option("--first-seed", o.first_seed, "S",
                 "c, far, learning, restart: seed of the first batch (0: 205000 and 200000)");
  command.option("--batch-jobs", o.migm.jobs, "N", "c: number of jobs in a batch");
  command.option("--keep", o.keep, "DIR", "all: directory for the results of finished parts");
  command.flag("--small", o.small, "all: use two days and few jobs, as a quick check");
  command.option("--html", o.html, "FILE", "also write everything as one HTML page");
  command.flag("--force", o.force, "replace an existing page");
  command.option("--threads", o.threads, "N", "number of days to simulate in parallel").alias("-j").also("--jobs");
  command.flag("--json", o.json, "print one JSON object");
  if (const auto end = command.ends(arguments)) return *end;
  const auto name = experiment_named(o.what);
  if (!name) return usage_error(name.error());
  o.what = *name;
  o.smart_mig.days = o.tables.days = o.days;
  if (o.batches != 0) o.migm.batches = o.far.batches = o.batches;
  if (o.first_seed != 0) o.migm.first_seed = o.far.first_seed = o.learning.first_seed = o.first_seed;
  o.far.family = o.migm.batch;
  o.far.threads = int(o.threads);
  o.smart_mig.threads = o.tables.threads = o.fig11.threads = int(o.threads);
  if (const auto right = check_ranges(o); !right) return usage_error(right.error());

  const auto report = run_experiment(o);
  if (!report) return failure(report.error());
  fmt::print("{}", o.json ? paper_json(*report) : paper_text(*report));
  if (o.html.empty()) return 0;
  if (const auto written = write_file(o.html, paper_page(*report)); !written) return failure(written.error());
  fmt::print(stderr, "page: {}\n", o.html);
  return 0;
}

}  // namespace smartmig::cli
