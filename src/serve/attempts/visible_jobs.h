// Which waiting jobs the policy sees, and with which deadline: Admission's answer, told to the belief as arrivals and
// withdrawals. A deadline that moved by little stays as it was. If similar jobs have run in the meantime, a job is
// shown again with what they taught. Thread rule: the owner's.
#pragma once
#include "queue/config/settings.h"
#include "queue/jobs/admission.h"
#include "queue/jobs/job_groups.h"
#include "queue/learning/estimates.h"
#include "serve/attempts/attempt_table.h"
#include "serve/attempts/host_shares.h"
#include "serve/attempts/job_transitions.h"

namespace smartmig {

class VisibleJobs {
 public:
  VisibleJobs(const Settings& settings, LiveSession& session, LiveJobs& book, const Boards& boards,
              const AttemptTable& attempts, HostShares& shares, const JobGroups& groups, Quotas& quotas,
              Admission& admission, Estimates& estimates, JobTransitions& transitions)
      : settings_(settings),
        session_(session),
        book_(book),
        boards_(boards),
        attempts_(attempts),
        shares_(shares),
        groups_(groups),
        quotas_(quotas),
        admission_(admission),
        estimates_(estimates),
        transitions_(transitions) {}

  void update(UnixTime daemon_started);  // a job that fits no slice of the fleet ends here
  void count_quotas();                   // what has run so far, and a week's end
  void charge(const JobRecord& job);     // it starts: its user's account moves on
  std::string accounts() const;          // "1000:123,1001:456"
  void set_accounts(const std::string& text);
  void clock_stepped(Time by) { admission_.clock_stepped(by); }

 private:
  std::vector<AdmissionJob> waiting() const;
  std::vector<AdmissionJob> within_quotas();
  bool hold_beyond_quotas(const std::vector<AdmissionJob>& jobs);
  void keep_quotas(std::vector<AdmissionJob>& jobs);
  void use_what_was_learned();
  void keep_group_limits(std::vector<AdmissionJob>& jobs) const;
  void show(const AdmittedJob& admitted, std::size_t shown, UnixTime daemon_started);

  const Settings& settings_;
  LiveSession& session_;
  LiveJobs& book_;
  const Boards& boards_;
  const AttemptTable& attempts_;
  HostShares& shares_;
  const JobGroups& groups_;
  Quotas& quotas_;
  Admission& admission_;
  Estimates& estimates_;
  JobTransitions& transitions_;
  std::size_t active_users_ = 1;
  bool knows_begun_ = false;  // Quotas::begun holds all that had run before
};

}  // namespace smartmig
