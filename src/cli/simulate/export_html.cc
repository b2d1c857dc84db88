// smartmig export --html: a recorded day as a page that plays it, alone or beside another policy on the same jobs.
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>

#include "cli/policy_flags.h"
#include "cli/verbs.h"
#include "eval/counterfactual.h"
#include "queue/config/settings.h"
#include "report/html_report.h"
#include "report/journal.h"
#include "report/journal_runs.h"

namespace smartmig::cli {
namespace {

struct Chosen {
  std::unique_ptr<ReplayedRun> run;
  std::string name;  // file, and which of its runs
};

Result<Chosen> read_run(std::string path, std::size_t which) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) path += "/journal.jsonl";
  SMARTMIG_TRY(auto lines, LineReader::open(path));
  SMARTMIG_TRY(const auto runs, read_journal_runs(std::move(lines)));
  if (which > runs.size())
    return invalid("run {}: {} has {} run{}", which, path, runs.size(), runs.size() == 1 ? "" : "s");
  const std::size_t number = which == 0 ? runs.size() : which;
  Chosen out;
  out.name = runs.size() == 1 ? path : fmt::format("{}, run {} of {}", path, number, runs.size());
  SMARTMIG_TRY(out.run, replay_journal(LineReader::over(out.name, runs[number - 1].text)));
  return out;
}

std::string policy_of(const RunRecord& record) {
  const std::string policy = record.config_value("policy");
  return policy.empty() ? "recorded" : policy;
}

// The recorded jobs under another policy.
class OtherWorld {
 public:
  static Result<std::unique_ptr<OtherWorld>> live(const ReplayedRun& run, const std::string& policy,
                                                  const PolicyOptions& parameters) {
    const RunRecord& record = run.record;
    SMARTMIG_TRY(const RecordedDay day, recorded_day(record.platform, *record.jobs, record.cost, record.initial,
                                                     record.summary.a, run.events, run.final));
    ReplayOptions options;
    SMARTMIG_TRY(const auto parsed, parse_policy_name(policy));
    options.policy = own_parameters(parsed, parameters);
    if (!record.config_value("world").empty()) options.w = kPaperWeight;
    LivedDay lived;
    SMARTMIG_TRY(SimResult result, live_again(day, day.measured, policy, options, &lived));
    return std::unique_ptr<OtherWorld>(new OtherWorld(record, day, std::move(lived), std::move(result)));
  }
  const RunRecord& record() const { return record_; }
  std::size_t left_out() const { return left_out_; }

 private:
  OtherWorld(const RunRecord& record, const RecordedDay& day, LivedDay lived, SimResult result)
      : lived_(std::move(lived)), result_(std::move(result)), record_(record), left_out_(day.left_out) {
    record_.jobs = day.measured;
    record_.initial = lived_.initial;
    record_.events = &lived_.journal.events();
    record_.final = &result_.final;
    record_.summary = result_.summary;
  }
  LivedDay lived_;
  SimResult result_;
  RunRecord record_;
  std::size_t left_out_;
};

}  // namespace

int run_export_html(const Arguments& arguments) {
  std::string output, path, against, policy;
  std::int64_t which = 0;
  PolicyOptions parameters;
  Command command(
      "export", "--html FILE RUN_DIR|JOURNAL",
      "Writes one self-contained page that plays a recorded day in a minute: slices split and merge, jobs move from the queue to\ntheir slices, and energy and lateness add up. With --policy or --against, it plays a second run next to the first.",
      "smartmig export --html day.html run1 --policy static+cedf");
  command.positional(path);
  command.option("--html", output, "FILE", "the page");
  command.option("--policy", policy, "NAME", "next to it, play the same jobs simulated under this policy");
  declare_policy_parameters(command, parameters);
  command.option("--against", against, "RUN_DIR|JOURNAL", "next to it, play another run of the same jobs");
  command.option("--run", which, "N", "for a daemon's journal: the run after its Nth start; 0: the last");
  if (const auto end = command.ends(arguments)) return *end;
  if (which < 0) return usage_error(invalid("--run {}: give 1 for the first run, 0 for the last", which));
  if (!policy.empty() && !against.empty())
    return usage_error(invalid("--policy simulates the second run and --against reads it; give one of them"));

  const auto first = read_run(path, std::size_t(which));
  if (!first) return failure(first.error());
  const RunRecord& record = first->run->record;
  ReplayPage page;
  page.title = fmt::format("A day in a minute: {}", std::filesystem::path(path).filename().string());
  page.version = record.version;
  page.command = "smartmig export --html";
  for (const std::string& argument : arguments)
    if (argument != "--html") page.command += " " + argument;
  page.worlds.push_back({policy_of(record), &record});
  Result<Chosen> second = Chosen{};
  std::unique_ptr<OtherWorld> other;
  if (!against.empty()) {
    second = read_run(against, 0);
    if (!second) return failure(second.error());
    if (hash_of(second->run->record.jobs->workload()) != hash_of(record.jobs->workload()))
      return usage_error(invalid("{} and {} ran different jobs; --policy simulates the same jobs", path, against));
    page.worlds.push_back({policy_of(second->run->record), &second->run->record});
  } else if (!policy.empty()) {
    auto made = OtherWorld::live(*first->run, policy, parameters);
    if (!made) return failure(made.error());
    other = std::move(*made);
    page.worlds.push_back({policy, &other->record()});
    page.note = fmt::format("{} is simulated with the jobs of the record{}.", policy,
                            other->left_out() ? fmt::format(" but for {} that never finished", other->left_out()) : "");
  }
  if (const auto written = write_file(output, replay_page(page)); !written) return failure(written.error());
  fmt::print("{}: {}\n", output,
             page.worlds.size() > 1 ? fmt::format("{} beside {}", page.worlds[0].name, page.worlds[1].name)
                                    : page.worlds[0].name);
  return 0;
}

}  // namespace smartmig::cli
