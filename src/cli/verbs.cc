#include "cli/verbs.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/text.h"
#include "cli/program/research.h"
#include "model/site_tables.h"

namespace smartmig::cli {

std::span<const VerbGroup> verb_groups() {
  static const Verb queue[] = {
      {"serve", "the daemon: a durable queue of ordinary commands on slices carved as needed", run_serve},
      {"submit", "put a command, a script or a list of commands into the queue", run_submit},
      {"run", "submit, follow, and end with the job's exit code", run_run},
      {"queue", "what waits and runs, with deadlines and joules", run_queue},
      {"log", "what a job wrote; -f follows it", run_log},
      {"wait", "wait for jobs; 0 only if all succeeded", run_wait},
      {"cancel", "cancel jobs", run_cancel},
      {"requeue", "put jobs back into the queue", run_requeue},
      {"show", "one job with all that is known of it", run_show},
      {"hold", "let waiting jobs wait until they are released", run_hold},
      {"release", "let held jobs run", run_release},
      {"update", "change a job's deadline, priority, memory, time or begin", run_update},
      {"front", "put waiting jobs before all others", run_front},
      {"suspend", "stop running jobs for a while", run_suspend},
      {"continue", "let suspended jobs go on", run_continue},
      {"group", "groups of jobs, and how many of one run at once", run_group},
      {"reserve", "keep GPUs for some users for a time", run_reserve},
      {"usage", "joules and money by user, kind or day", run_usage},
      {"why", "why a job waits, what would change it, at what price", run_why},
      {"eta", "when a job will start and end, as an interval", run_eta},
      {"history", "what was learned of a command: seconds on each size, and how far off predictions were", run_history},
      {"whatif", "the live queue with another policy, more GPUs or one more job; a Slurm cluster's history",
       run_whatif},
      {"view", "a recorded run or journal on the page in a browser", run_view},
      {"top", "GPUs drawn as slices, watts and the queue, in the terminal", run_top},
      {"drain", "let a GPU run empty", run_drain},
      {"pause", "start nothing new", run_pause},
      {"resume", "let a GPU or the queue take work again", run_resume},
      {"backup", "a copy of the daemon's queue and journal", run_backup},
      {"restore", "put a backup in its place, while no daemon runs", run_restore},
  };
  static const Verb simulate[] = {
      {"demo", "one day of 8 emulated A100s under several policies, with an HTML report", run_demo},
      {"sim", "simulate a workload under one policy", run_sim},
      {"compare", "several policies over paired days, with intervals", run_compare},
      {"search", "find a static or twice-daily partition on training days", run_search},
      {"tune", "search the planner's weights on training days", nullptr},
      {"train", "train a mean-field controller by PPO", run_train},
      {"eval", "one policy against every baseline on report days", run_eval},
      {"explain", "which layouts a policy takes when, and a small table that imitates it", nullptr},
      {"bound", "a proven lower bound on energy, tardiness or ET, with a certificate", run_bound},
      {"size", "how many GPUs a workload needs", run_size},
      {"reproduce", "the papers' tables beside ours", nullptr},
      {"decide", "layouts and placements for a state given as JSON", run_decide},
      {"workload", "generate, convert and check workloads", run_workload},
      {"replay", "the figures of a recorded journal, and of other policies on the same day", run_replay},
      {"calibrate", "fit speeds and watts to what jobs took, and report the error", run_calibrate},
  };
  static const Verb gpus[] = {
      {"gpus", "the GPUs of this machine, their slices and what is busy", run_gpus},
      {"plan", "what apply would destroy, keep and create, with seconds", run_plan},
      {"apply", "make the partition what a configuration says, around what runs", run_apply},
      {"assert", "is the partition what a configuration says?", run_assert},
      {"export", "the present partition as a configuration; --journal: the daemon's; --onnx: a policy as a model",
       run_export},
      {"generate-config", "a configuration file for the GPUs of this machine", run_generate_config},
      {"doctor", "is this machine fit to be controlled? one remedy for each complaint", run_doctor},
      {"geometry", "MIG models, profiles, layouts and moves", run_geometry},
      {"profile", "run a command on each slice size and write its rows for the speed and power tables", run_profile},
      {"estimate", "the memory a job will need, and the tightest slice that has it", run_estimate},
  };
  static const Verb clusters[] = {
      {"slurm", "a Slurm cluster: the controller that carves and places, and what its configuration needs", run_slurm},
      {"agent", "the GPUs of one node of a Slurm cluster, for its controller", run_agent},
  };
  static const Verb others[] = {
      {"completion", "completion for bash, zsh or fish", run_completion},
      {"man", "the manual page", run_man},
  };
  static const VerbGroup groups[] = {{"Queue", queue},
                                     {"Simulate and learn", simulate},
                                     {"GPUs", gpus},
                                     {"Clusters", clusters},
                                     {"This program", others}};
  return groups;
}

std::span<const Verb> verb_aliases() {
  static const Verb table[] = {{"status", "queue", run_queue},
                               {"follow", "log -f", run_follow},
                               {"kill", "cancel", run_cancel},
                               {"restart", "requeue", run_requeue}};
  return table;
}

namespace {

void print_help() {
  fmt::print(
      "smartmig: carve MIG GPUs into slices, place jobs on them, and know how much energy and lateness it costs\n\n");
  fmt::print("Usage: smartmig VERB [options]      smartmig VERB --help says more\n\n");
  for (const VerbGroup& group : verb_groups()) {
    fmt::print("{}:\n", group.title);
    for (const Verb& verb : group.verbs) fmt::print("  {:<15} {}\n", verb.name, verb.summary);
    fmt::print("\n");
  }
  fmt::print("Also:");
  for (const Verb& alias : verb_aliases()) fmt::print(" {} ({})", alias.name, alias.summary);
  fmt::print("\n");
  fmt::print("\nExample:\n  smartmig sim -w paper:20x,seed=7 --gpus 8xa100-40gb --policy static+cedf\n");
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argv + std::min(argc, 1), argv + argc);
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    print_help();
    return arguments.empty() ? 2 : 0;
  }
  if (arguments[0] == "--version") {
    fmt::print("smartmig {}\n", SMARTMIG_VERSION);
    return 0;
  }
  if (arguments[0] == "pty-job") return run_pty_job(Arguments(arguments.begin() + 1, arguments.end()));
  if (const auto tables = check_site_tables(); !tables) return usage_error(tables.error());
  std::vector<std::string> names;
  const Arguments rest(arguments.begin() + 1, arguments.end());
  for (const VerbGroup& group : verb_groups())
    for (const Verb& verb : group.verbs) {
      if (arguments[0] == verb.name) return verb.run ? verb.run(rest) : become_research(arguments);
      names.emplace_back(verb.name);
    }
  for (const Verb& alias : verb_aliases())
    if (arguments[0] == alias.name) return alias.run(rest);
  const std::string near = nearest(arguments[0], names);
  return usage_error(invalid("'{}' is not a verb{}; smartmig --help lists them", arguments[0],
                             near.empty() ? "" : ", did you mean " + near + "?"));
}

}  // namespace smartmig::cli
