// Quotas by user, Unix group and project (the settings' table `quota`): compute slices at once, and GPU-hours and energy
// of a week. A job is under three of them: its owner's, its owner's group's (the group it was submitted under) and its
// project's; a name without a quota of its own has that of "default", if there is one.
//
//   slices        what a user's, group's or project's running jobs asked for; the next one waits until some are free
//   week          from Monday 00:00 of the local clock; a job counts where it ends, a running one with what it has
//                 used so far
//   GPU-hours     compute slices times hours, in whole GPUs of the fleet's first model
//
// A job does not start while one of its quotas of the week is used up; what runs goes on, so a week may exceed its quota
// by what ran then. Thread rule: the owner's.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "queue/config/settings.h"
#include "queue/job_record.h"

namespace smartmig {

struct QuotaUse {
  double gpu_s = 0, joules = 0;
};

// Monday 00:00 of the local clock at or before `now`, and the next one.
UnixTime week_start(UnixTime now);
UnixTime week_end(UnixTime now);
const char* name_of(QuotaScope scope);      // "user", "group", "project"
std::string unix_group(std::uint32_t gid);  // its name, else its number

class Quotas {
 public:
  Quotas(const Settings& settings, int gpu_slices) : settings_(settings), gpu_slices_(gpu_slices) {}

  bool any() const { return !settings_.quota.limits.empty(); }
  void ended(const JobRecord& job);                     // with the joules known so far
  void more_joules(const JobRecord& job, double more);  // of one that has ended
  void brought_back(const JobRecord& ended);            // its use counts as that of a live job again
  // What ended this week, for the store: one line. Absent: it is as it was at the last call.
  std::optional<std::string> changed_text();
  std::string text() const;
  Result<Ok> load(const std::string& text);  // strict
  // What runs now, and the slices that it asked for; 0: has run and waits again. Ends the week where it is over.
  struct Running {
    const JobRecord* job = nullptr;
    int slices = 0;
  };
  void count(std::span<const Running> running, UnixTime now);
  std::set<QueueId>& begun() { return begun_; }  // live jobs that have run; VisibleJobs keeps it

  // Of the quotas of a job's week, the one that is used up, in words; empty: none.
  std::string used_up(const JobRecord& job) const;
  // It asks for more slices at once than one of its quotas or limits.user_slices has; empty: no.
  std::string never_fits(const JobRecord& job, int slices) const;
  std::string slices_full(const JobRecord& job, int slices) const;  // the same of what is free now
  std::vector<std::string> left(const JobRecord& job) const;        // of each of its quotas, in words
  UnixTime next_week() const { return week_end_; }
  // For looks ahead: takes so many GPU seconds more from what the job's quotas have left this week, where they have any
  // left; false: they have not. `more`: what earlier calls took.
  bool take_ahead(const JobRecord& job, double gpu_s, std::map<QuotaName, double>& more) const;

  // Limits on slices as indices of caps(), for gates that count by themselves (start_shares.h); -1: none.
  using Caps = std::array<int, kQuotaScopes>;
  Caps caps_of(const JobRecord& job) const;
  const std::vector<int>& caps() const { return caps_; }
  void settings_changed();

  struct Row {
    QuotaName name;
    Quota limit;
    QuotaUse used;
    int slices = 0;
  };
  std::vector<Row> rows(QuotaScope scope) const;  // of all that have a quota or have used something this week

 private:
  const Quota* limit_of(const QuotaName& name) const;  // nullptr: none
  QuotaUse used(const QuotaName& name) const;
  int slices(const QuotaName& name) const;
  QuotaUse use_of(const JobRecord& job, UnixTime now) const;

  const Settings& settings_;
  const int gpu_slices_;
  UnixTime week_end_{};
  bool changed_ = false;
  std::map<QuotaName, QuotaUse> ended_, running_;
  std::map<QuotaName, int> slices_;
  std::set<QueueId> begun_;
  mutable std::map<QuotaName, int> cap_of_;  // grow as jobs ask
  mutable std::vector<int> caps_;
};

inline bool is_quota_words(std::string_view reason) { return reason.starts_with("the week's quota of "); }
std::array<QuotaName, kQuotaScopes> quota_names(const JobRecord& job);  // an empty name: of none

}  // namespace smartmig
