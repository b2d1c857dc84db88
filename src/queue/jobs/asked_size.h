// How large a slice a job asks for: its own words (--profile, --min-slices, --max-slices, --exclusive, a GPU's model),
// and what the site says for jobs that name no size (defaults.gpu_means, defaults.max_slices, defaults.pty_max_slices).
//
// Bounds count compute slices of the fleet's first model, as Job::work does. A profile is its compute slices together
// with its memory: policies give no larger memory of the same size where less will do
// (policy/planner/tightest_memory.h). In a fleet of several models a slice of another model with about as many SMs
// counts as that size. Pure.
#pragma once
#include <string>

#include "model/platform.h"
#include "queue/config/settings.h"
#include "queue/job_record.h"

namespace smartmig {

struct SizeRules {  // of jobs that name no size; 0: no cap
  int max_slices = 0, pty_max_slices = 0;
};
SizeRules size_rules(const Settings& settings);

struct AskedSize {
  int least = 1, most = kMaxComputeSlices;
  bool takes(int compute_slices) const { return compute_slices >= least && compute_slices <= most; }
};

bool names_a_size(const JobSpec& spec);
std::string size_words(const JobSpec& spec);  // "--profile 1g.10gb"; empty: it names no size

// kInvalid: the fleet has no such slice, or none with the memory that is asked for besides; the sentence lists those
// there are.
Result<Ok> check_size(const JobSpec& spec, const Platform& platform);
// What the site's rules make of the words, once and for all: "a GPU" may be a whole one, and a profile tells the
// memory.
void settle_size(JobSpec& spec, const Platform& platform, const Settings& settings);

AskedSize asked_size(const JobSpec& spec, const Platform& platform);  // by its own words alone
// The same with the site's rules and a user's cap (0: none), which give way where its memory needs more.
AskedSize allowed_size(const JobRecord& job, const Platform& platform, const SizeRules& rules, int user_slices);
// The fewest compute slices that hold what it asks for: what counts against its user's cap, however many it gets.
int asked_slices(const JobRecord& job, const Platform& platform);
// Of the slices that its words allow.
int largest_memory_mib(const JobSpec& spec, const Platform& platform);

}  // namespace smartmig
