// The verbs of smartmig, one file each (geometry.cc contains run_geometry). A verb takes the arguments after its name
// and returns the exit code: 0 ok, 1 the work failed, 2 the command line was wrong. Only this folder prints or exits.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/failure.h"

namespace smartmig::cli {

using Arguments = std::vector<std::string>;

int run_geometry(const Arguments&);
int run_workload(const Arguments&);
int run_sim(const Arguments&);
int run_replay(const Arguments&);
int run_compare(const Arguments&);
int run_search(const Arguments&);
int run_eval(const Arguments&);
int run_size(const Arguments&);
int run_decide(const Arguments&);
int run_demo(const Arguments&);
int run_bound(const Arguments&);
int run_gpus(const Arguments&);
int run_plan(const Arguments&);
int run_apply(const Arguments&);
int run_assert(const Arguments&);
int run_export(const Arguments&);
int run_export_journal(const Arguments&);  // by run_export, for --journal
int run_export_html(const Arguments&);     // by run_export, for --html
int run_generate_config(const Arguments&);
int run_doctor(const Arguments&);
int run_slice_probe(const Arguments&);  // of doctor --exercise, not by hand
int run_estimate(const Arguments&);
int run_profile(const Arguments&);
int run_calibrate(const Arguments&);

int run_serve(const Arguments&);
int run_stop(const Arguments&);
int run_reload(const Arguments&);
int run_submit(const Arguments&);
int run_run(const Arguments&);
int run_queue(const Arguments&);
int run_status(const Arguments&);  // with what keeps jobs apart
int run_log(const Arguments&);
int run_follow(const Arguments&);
int run_wait(const Arguments&);
int run_cancel(const Arguments&);
int run_requeue(const Arguments&);
int run_show(const Arguments&);
int run_hold(const Arguments&);
int run_release(const Arguments&);
int run_update(const Arguments&);
int run_front(const Arguments&);
int run_suspend(const Arguments&);
int run_continue(const Arguments&);
int run_pty_job(const Arguments& arguments);  // of run --pty, not by hand
int run_srun(const Arguments& arguments);     // the srun that a job finds
int run_reserve(const Arguments& arguments);
int run_group(const Arguments&);
int run_usage(const Arguments&);
int run_why(const Arguments&);
int run_history(const Arguments&);
int run_eta(const Arguments&);
int run_whatif(const Arguments&);
int run_whatif_history(const Arguments&);  // by run_whatif, for --sacct
int run_view(const Arguments& arguments);
int run_top(const Arguments&);
int run_drain(const Arguments&);
int run_resume(const Arguments&);
int run_undrain(const Arguments&);
int run_pause(const Arguments&);
int run_backup(const Arguments&);
int run_restore(const Arguments&);
int run_slurm(const Arguments&);
int run_kubernetes(const Arguments&);
int run_agent(const Arguments&);
int run_completion(const Arguments&);
int run_man(const Arguments&);

struct Verb {
  const char* name;  // two words where it is one of several of a kind: "mig plan"; its last word alone names it, too
  const char* summary;
  int (*run)(const Arguments&);  // nullptr: of smartmig-research (cli/program/research.h)
  bool daily = false;            // listed by smartmig help without --all
};
struct VerbGroup {
  const char* title;
  std::span<const Verb> verbs;
};
std::span<const VerbGroup> verb_groups();
std::span<const Verb> verb_aliases();  // other names: "status" for queue

// The first words of verbs of two, with what their verbs have in common.
struct Family {
  const char* name;
  const char* summary;
};
std::span<const Family> verb_families();
std::string_view family_of(const Verb& verb);     // "mig" of "mig plan"; empty: none
std::string_view last_word_of(const Verb& verb);  // "plan" of "mig plan", "queue" of "queue"

int main(int argc, char** argv);

}  // namespace smartmig::cli
