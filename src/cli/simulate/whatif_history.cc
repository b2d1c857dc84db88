// smartmig whatif --sacct: a Slurm cluster's own history under other policies. By run_whatif, for --sacct.
#include <fmt/format.h>

#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "cli/progress.h"
#include "cli/simulate/comparison.h"
#include "cli/simulate/history_report.h"
#include "cli/simulate/run_options.h"
#include "cli/verbs.h"
#include "eval/policy_stack.h"
#include "live/jobs/run_program.h"
#include "sim/sacct.h"

namespace smartmig::cli {
namespace {

constexpr Time kSacctLimit{300'000'000};  // a month of a large cluster takes its database minutes

// "30d" as sacct wants it: now-30days.
Result<std::string> since_words(const std::string& text) {
  const auto days = text.ends_with('d') ? parse_int(std::string_view(text).substr(0, text.size() - 1)) : std::nullopt;
  if (!days || *days < 1 || *days > 3650)
    return invalid("--since must be days from 1d to 3650d, such as 30d, not '{}'", text);
  return fmt::format("now-{}days", *days);
}

Result<std::string> ask_sacct(const std::string& since) {
  ProgramRun run;
  run.arguments = {
      "sacct", "-a", "-P",  "-S",
      since,   "-E", "now", "--format=JobIDRaw,JobName,Submit,Start,ElapsedRaw,State,AllocTRES,TRESUsageInMax"};
  run.environment = {{"SLURM_TIME_FORMAT", "standard"}};
  run.limit = kSacctLimit;
  run.most_output = std::size_t(4) << 30;
  auto done = run_program(run);
  if (!done)
    return io_error("cannot run sacct here ({}); run it on the cluster and give --sacct FILE", done.error().what);
  if (done->status != 0) return io_error("sacct ended with {}: {}", done->status, trim(done->output));
  return std::move(done->output);
}

Result<Workload> load_history(const std::string& source, const std::string& since, const LoadOptions& options) {
  if (source != "live") return load_workload(source, options);
  SMARTMIG_TRY(const std::string words, since_words(since));
  SMARTMIG_TRY(std::string text, ask_sacct(words));
  SMARTMIG_TRY(Workload workload, read_sacct(LineReader::over("sacct", std::move(text)), options));
  if (options.restart) set_restart(workload, *options.restart);
  return workload;
}

// --sacct alone, or before another option, means the cluster here.
Arguments with_live(Arguments arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i] == "--sacct" && (i + 1 == arguments.size() || arguments[i + 1].starts_with("--")))
      arguments[i] = "--sacct=live";
  return arguments;
}

}  // namespace

int run_whatif_history(const Arguments& given) {
  RunOptions options;
  options.gpus.clear();
  std::string source, since = "30d", policies = "none+fifo,search+fifo,best", page_file;
  std::optional<double> target;
  double effort = 1;
  std::int64_t threads = default_threads();
  bool json = false, force = false, no_bound = false, no_size = false;
  Command command(
      "whatif", "",
      "With --sacct, simulates a Slurm cluster's history under each policy on the GPUs of --gpus, and prints energy, delay, wait, the number of GPUs needed and the gap to a proven bound. Without --sacct, it simulates the live queue; see smartmig whatif --help.",
      "smartmig whatif --sacct history.txt --gpus 16xa100-40gb --html page.html");
  command.option(
      "--sacct", source, "FILE",
      "output of sacct -a -P, plain or gzip (- for standard input); without a value, or with live, smartmig runs sacct itself");
  command.option("--since", since, "DAYS", "live: how far back to look, such as 30d");
  command.option("--gpus", options.gpus, "SPEC", "GPUs of the fleet, such as 8xa100-40gb or 4xa100-40gb,2xa30-24gb");
  command.heading("Policy");
  command.option("--policies", policies, "LIST", "policies, from the list below, compared with the first");
  command.heading("");
  command.option(
      "--target-min", target, "T",
      "find the number of GPUs that keeps the mean delay at or below T minutes (default: the first policy's delay on --gpus, at least 1)");
  command.option("--power", options.power, "MODEL",
                 "power model: auto, paper, a100-sxm, a100-jobs, h200, h100-nvl, linear:IDLE:PER_SLICE:CAP");
  command.option("--cost", options.cost, "MODEL", "paper: preemptions and reshapes are free; hardware: they take time");
  command.option("--restart", options.restart, "RULE",
                 "hardware costs: restart cost of jobs: none, table, or SECONDS for training jobs "
                 "(default: the workload's)");
  command.option("--a", options.a, "A",
                 "weight of a watt-minute relative to a minute of mean tardiness (default: 2e-7 x 8 / (GPUs x days))");
  command.option("--slack", options.slack, "LOW-HIGH",
                 "deadlines: submit + U(LOW, HIGH) x time on the whole GPU (default: 1; tardiness is then "
                 "the delay against a whole GPU at once)");
  command.option("--default-kind", options.default_kind, "KIND", "kind of the jobs whose names match no known model");
  options.declare_policy(command);
  command.flag("--no-bound", no_bound, "do not prove a bound");
  command.flag("--no-size", no_size, "do not count the GPUs that each policy needs");
  command.option("--effort", effort, "X", "work to spend on the bound");
  command.option("--threads", threads, "N", "number of policies to simulate in parallel").alias("-j").also("--jobs");
  command.option("--html", page_file, "FILE", "write a page");
  command.flag("--force", force, "replace an existing page");
  command.flag("--json", json, "print one JSON object");
  const Arguments arguments = with_live(given);
  if (const auto end = command.ends(arguments)) return *end;
  if (options.gpus.empty()) return usage_error(invalid("name the GPUs: --gpus 16xa100-40gb"));
  if (target && *target < 0) return usage_error(invalid("--target-min must not be negative, but it is {}", *target));
  if (!(effort >= 0.01 && effort <= 1000)) return usage_error(invalid("--effort {}: 0.01 to 1000", effort));
  if (threads < 1 || threads > 1024) return usage_error(invalid("-j {}: 1 to 1024", threads));
  auto setting = options.setting();
  if (!setting) return usage_error(setting.error());
  if (!setting->load.slack) setting->load.missing_slack = SlackRange{1, 1, false};
  setting->load.gpu = setting->platform->models()[0].gpu->name();
  TraceReading reading;
  setting->load.reading = &reading;

  HistoryQuestion question;
  for (const std::string& name : split_policies(policies)) {
    const auto known = parse_policy_name(name);
    if (!known) return usage_error(known.error());
    question.contenders.push_back(contender_of(name, own_parameters(*known, options.policy_options())));
    const Contender& contender = question.contenders.back();
    const auto made = PolicyStack::make({contender.policy, contender.options, setting->cost}, setting->platform);
    if (!made) return usage_error(made.error());
  }
  std::error_code ignored;
  if (!page_file.empty() && !force && std::filesystem::exists(page_file, ignored))
    return failure(io_error("{} exists; choose another file or add --force", page_file));
  auto workload = load_history(source, since, setting->load);
  if (!workload) return failure(workload.error());
  if (workload->jobs.empty()) return failure(invalid("{}: no job ran on a GPU", workload->source));
  question.setting = *setting;
  question.workload = std::make_shared<Workload>(std::move(*workload));
  question.target_min = target;
  question.sizes = !no_size;
  question.bounds = !no_bound;
  question.effort = effort;
  question.threads = int(threads);
  std::optional<Result<HistoryAnswer>> answer;
  {
    Progress bar("whatif");
    answer = try_history(question, [&bar](double share) { bar.set(share); });
  }
  if (!*answer) return failure(answer->error());
  print_warnings(reading);
  const HistoryReport report{question, **answer, reading,
                             "smartmig whatif " + fmt::format("{}", fmt::join(given, " "))};
  fmt::print("{}", json ? history_json(report) + "\n" : history_text(report));
  if (!page_file.empty())
    if (const auto written = write_file(page_file, history_page(history_page_of(report))); !written)
      return failure(written.error());
  return 0;
}

}  // namespace smartmig::cli
