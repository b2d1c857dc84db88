// The verbs of smartmig, one file each (geometry.cc holds run_geometry). Each takes the arguments after the verb and
// returns the exit code: 0 ok, 1 the work failed, 2 the call was wrong. Only this folder prints or exits.
#pragma once
#include <span>
#include <string>
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
int run_train(const Arguments&);
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
int run_export_onnx(const Arguments&);     // by run_export, for --onnx
int run_export_journal(const Arguments&);  // by run_export, for --journal
int run_generate_config(const Arguments&);
int run_doctor(const Arguments&);
int run_estimate(const Arguments&);
int run_profile(const Arguments&);
int run_calibrate(const Arguments&);

int run_serve(const Arguments&);
int run_submit(const Arguments&);
int run_run(const Arguments&);
int run_queue(const Arguments&);
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
int run_pause(const Arguments&);
int run_backup(const Arguments&);
int run_restore(const Arguments&);
int run_slurm(const Arguments&);
int run_agent(const Arguments&);
int run_completion(const Arguments&);
int run_man(const Arguments&);

struct Verb {
  const char* name;
  const char* summary;
  int (*run)(const Arguments&);  // nullptr: of smartmig-research (cli/program/research.h)
};
struct VerbGroup {
  const char* title;
  std::span<const Verb> verbs;
};
std::span<const VerbGroup> verb_groups();
std::span<const Verb> verb_aliases();  // other names: "status" for queue

int main(int argc, char** argv);

}  // namespace smartmig::cli
