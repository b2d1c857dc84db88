#include "cli/verbs.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/program/research.h"
#include "model/site_tables.h"

namespace smartmig::cli {

std::span<const VerbGroup> verb_groups() {
  static const Verb queue[] = {
      {"serve", "run the daemon: a durable queue that creates slices for ordinary commands", run_serve, true},
      {"stop", "stop the daemon; its jobs continue", run_stop, true},
      {"reload", "make the daemon reload its configuration", run_reload},
      {"submit", "submit a command, a script or a list of commands", run_submit, true},
      {"run", "submit a job, show its output and exit with its exit code", run_run, true},
      {"queue", "list jobs with their states, deadlines and energy", run_queue, true},
      {"log", "print the output of a job; -f follows it", run_log, true},
      {"wait", "wait until jobs have ended", run_wait, true},
      {"cancel", "cancel jobs", run_cancel, true},
      {"requeue", "put jobs back into the queue", run_requeue},
      {"show", "show everything about a job", run_show},
      {"hold", "hold waiting jobs until they are released", run_hold},
      {"release", "release held jobs", run_release},
      {"update", "change a job's deadline, priority, memory, time limit or start time", run_update},
      {"front", "move waiting jobs to the head of the queue", run_front},
      {"suspend", "suspend running jobs", run_suspend},
      {"continue", "resume suspended jobs", run_continue},
      {"group", "show groups of jobs and limit how many of a group run at once", run_group},
      {"reserve", "reserve GPUs for some users for a period", run_reserve},
      {"usage", "sum up energy and cost by user, group, project, kind or day; show quotas", run_usage},
      {"why", "explain why a job waits and what would change that", run_why, true},
      {"eta", "predict when a job will start and end", run_eta, true},
      {"history", "show what was learned about a command, and how accurate predictions were", run_history},
      {"whatif", "simulate a change of the live queue, or a Slurm cluster's history", run_whatif},
      {"view", "show a recorded run or journal in a browser", run_view},
      {"top", "show GPUs, slices, power and the queue in the terminal", run_top, true},
      {"drain", "start no more jobs on a GPU", run_drain},
      {"pause", "start no more jobs on any GPU", run_pause},
      {"resume", "return a GPU to service, or end a pause", run_resume},
      {"backup", "copy the daemon's queue and journal to a file", run_backup},
      {"restore", "replace the queue with a backup; stop the daemon first", run_restore},
  };
  static const Verb simulate[] = {
      {"demo", "simulate one day on 8 A100s under several policies", run_demo, true},
      {"sim", "simulate a workload under one policy", run_sim},
      {"compare", "compare policies over several days, with confidence intervals", run_compare},
      {"search", "find a static or twice-daily partition on training days", run_search},
      {"eval", "compare one policy with all baselines on report days", run_eval},
      {"bound", "prove a lower bound on energy, tardiness or ET", run_bound},
      {"size", "find the number of GPUs that a workload needs", run_size},
      {"decide", "compute layouts and placements for a state given as JSON", run_decide},
      {"workload", "generate, convert and check workloads", run_workload},
      {"replay", "compute the figures of a recorded journal, also under other policies", run_replay},
      {"lab train", "train a mean-field controller by PPO", nullptr},
      {"lab tune", "search the weights of market on training days", nullptr},
      {"lab explain", "show which layouts a policy chooses, and imitate it with a small table", nullptr},
      {"lab calibrate", "fit speeds and power to finished jobs, and report the errors", run_calibrate},
      {"lab reproduce", "reproduce the tables of the papers", nullptr},
  };
  static const Verb gpus[] = {
      {"gpus", "list GPUs with their slices, jobs and power", run_gpus, true},
      {"mig plan", "show what apply would destroy, keep and create", run_plan},
      {"mig apply", "change the partition to match a configuration; busy slices stay", run_apply},
      {"mig assert", "check whether the partition matches a configuration", run_assert},
      {"mig export", "print the current partition as a configuration; also --journal, --html and --onnx", run_export},
      {"mig generate-config", "print a configuration file for the GPUs of this machine", run_generate_config},
      {"doctor", "check this machine and suggest a remedy for each problem", run_doctor},
      {"geometry", "show the MIG profiles and layouts of a GPU model", run_geometry},
      {"profile", "measure a command on each slice size", run_profile},
      {"estimate", "estimate a job's GPU memory and the smallest slice that fits", run_estimate},
  };
  static const Verb clusters[] = {
      {"slurm", "run the controller of a Slurm cluster, check the cluster, or print its configuration", run_slurm},
      {"kubernetes", "run the controller of a Kubernetes cluster, check the cluster, or print what to apply",
       run_kubernetes},
      {"agent", "run the agent of one node of a Slurm cluster", run_agent},
  };
  static const Verb others[] = {
      {"completion", "print the completion script for bash, zsh or fish", run_completion},
      {"man", "print the manual page", run_man},
  };
  static const VerbGroup groups[] = {{"Queue", queue},
                                     {"Simulate and learn", simulate},
                                     {"GPUs", gpus},
                                     {"Clusters", clusters},
                                     {"This program", others}};
  return groups;
}

std::span<const Verb> verb_aliases() {
  static const Verb table[] = {{"status", "queue", run_status},
                               {"follow", "log -f", run_follow},
                               {"kill", "cancel", run_cancel},
                               {"restart", "requeue", run_requeue},
                               {"undrain", "resume", run_undrain}};
  return table;
}

std::span<const Family> verb_families() {
  static const Family table[] = {
      {"mig", "show and change a machine's partition with configuration files"},
      {"lab", "train, tune and explain policies, fit tables and reproduce papers"},
  };
  return table;
}

std::string_view family_of(const Verb& verb) {
  const std::string_view name = verb.name;
  const auto space = name.find(' ');
  return space == name.npos ? std::string_view() : name.substr(0, space);
}

std::string_view last_word_of(const Verb& verb) {
  const std::string_view name = verb.name;
  return name.substr(name.find(' ') + 1);  // npos + 1 is 0
}

namespace {

constexpr const char* kTitle =
    "smartmig: a job queue that divides MIG GPUs into slices and balances energy use against lateness";

void print_verb(const Verb& verb) { fmt::print("  {:<20} {}\n", verb.name, verb.summary); }

void print_daily_help() {
  fmt::print("{}\n\nUsage: smartmig VERB [options]\n\n", kTitle);
  for (const VerbGroup& group : verb_groups())
    for (const Verb& verb : group.verbs)
      if (verb.daily) print_verb(verb);
  fmt::print("\nRun smartmig help VERB for help on a verb, or smartmig help --all for a list of all verbs.\n");
}

void print_all_help() {
  fmt::print("{}\n\nUsage: smartmig VERB [options]      smartmig help VERB explains a verb\n\n", kTitle);
  for (const VerbGroup& group : verb_groups()) {
    fmt::print("{}:\n", group.title);
    for (const Verb& verb : group.verbs) print_verb(verb);
    fmt::print("\n");
  }
  fmt::print("Also:");
  for (const Verb& alias : verb_aliases()) fmt::print(" {} ({})", alias.name, alias.summary);
  fmt::print("\n");
  fmt::print("\nExample:\n  smartmig sim -w paper:20x,seed=7 --gpus 8xa100-40gb --policy static+cedf\n");
}

void print_family(const Family& family) {
  fmt::print("smartmig {}: {}\n\n", family.name, family.summary);
  for (const VerbGroup& group : verb_groups())
    for (const Verb& verb : group.verbs)
      if (family_of(verb) == family.name) print_verb(verb);
  fmt::print("\nRun smartmig help {} VERB for help on a verb.\n", family.name);
}

const Family* find_family(std::string_view name) {
  for (const Family& family : verb_families())
    if (name == family.name) return &family;
  return nullptr;
}

const Verb* find_verb(std::string_view family, std::string_view name) {  // no family: by the last word, too
  for (const VerbGroup& group : verb_groups())
    for (const Verb& verb : group.verbs)
      if (last_word_of(verb) == name && (family.empty() || family == family_of(verb))) return &verb;
  if (family.empty())
    for (const Verb& alias : verb_aliases())
      if (name == alias.name) return &alias;
  return nullptr;
}

Error unknown_verb(const Family* family, const std::string& word) {
  const std::string before = family ? fmt::format("{} ", family->name) : "";
  std::vector<std::string> names;
  for (const VerbGroup& group : verb_groups())
    for (const Verb& verb : group.verbs)
      if (!family || family_of(verb) == family->name) names.emplace_back(last_word_of(verb));
  if (!family) {
    for (const Verb& alias : verb_aliases()) names.emplace_back(alias.name);
    for (const Family& one : verb_families()) names.emplace_back(one.name);
  }
  const std::string near = near_miss(word, names);
  const Verb* const meant = near.empty() ? nullptr : find_verb(family ? family->name : "", near);
  return invalid("'{}{}' is not a verb{}; smartmig help {} lists them", before, word,
                 near.empty() ? "" : fmt::format(", did you mean {}?", meant ? meant->name : near),
                 family ? family->name : "--all");
}

// "plan ...", "mig plan ...": the verb with the rest of the arguments, or the end of the program.
int start_verb(const Arguments& arguments) {
  std::size_t used = 1;
  const Family* const family = find_family(arguments[0]);
  if (family) {
    const bool wants_help = arguments.size() > 1 && (arguments[1] == "--help" || arguments[1] == "-h");
    if (arguments.size() == 1 || wants_help) {
      print_family(*family);
      return wants_help ? 0 : 2;
    }
    used = 2;
  }
  const Verb* const verb = find_verb(family ? family->name : "", arguments[used - 1]);
  if (!verb) return usage_error(unknown_verb(family, arguments[used - 1]));
  const Arguments rest(arguments.begin() + std::ptrdiff_t(used), arguments.end());
  if (verb->run) return verb->run(rest);
  return become_research(std::string(last_word_of(*verb)), rest);
}

int help_about(Arguments words) {
  if (words.empty()) {
    print_daily_help();
    return 0;
  }
  if (words[0] == "--all" || words[0] == "-a") {
    print_all_help();
    return 0;
  }
  words.resize(std::min<std::size_t>(words.size(), find_family(words[0]) ? 2 : 1));
  words.emplace_back("--help");
  return start_verb(words);
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argv + std::min(argc, 1), argv + argc);
  const std::string_view called = argc > 0 ? argv[0] : "";
  if (called.substr(called.rfind('/') + 1) == "srun") return run_srun(arguments);  // shims/srun
  if (arguments.empty()) {
    print_daily_help();
    return 2;
  }
  const Arguments rest(arguments.begin() + 1, arguments.end());
  if (arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") return help_about(rest);
  if (arguments[0] == "--version") {
    fmt::print("smartmig {}\n", SMARTMIG_VERSION);
    return 0;
  }
  if (arguments[0] == "pty-job") return run_pty_job(rest);
  if (arguments[0] == "slice-probe") return run_slice_probe(rest);
  if (const auto tables = check_site_tables(); !tables) return failure(tables.error());
  return start_verb(arguments);
}

}  // namespace smartmig::cli
