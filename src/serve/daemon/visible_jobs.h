// Which waiting jobs the policy sees, and with which deadline: Admission's answer, told to the belief as arrivals and
// withdrawals. A deadline that moved by little stays as it was. A job whose like has run meanwhile is shown anew, with
// what that taught. Thread rule: the owner's.
#pragma once
#include "serve/config/settings.h"
#include "serve/daemon/admission.h"
#include "serve/daemon/attempt_table.h"
#include "serve/daemon/estimates.h"
#include "serve/daemon/host_shares.h"
#include "serve/daemon/job_groups.h"
#include "serve/daemon/lifecycle.h"

namespace smartmig {

class VisibleJobs {
 public:
  VisibleJobs(const Settings& settings, LiveSession& session, JobBook& book, const Boards& boards,
              const AttemptTable& attempts, HostShares& shares, const JobGroups& groups, Estimates& estimates,
              Lifecycle& lifecycle)
      : settings_(settings),
        session_(session),
        book_(book),
        boards_(boards),
        attempts_(attempts),
        shares_(shares),
        groups_(groups),
        estimates_(estimates),
        lifecycle_(lifecycle) {}

  void update(UnixTime daemon_started);  // a job that fits no slice of the fleet ends here
  void charge(const JobRecord& job);     // it starts: its user's account moves on
  std::string accounts() const;          // "1000:123,1001:456"
  void set_accounts(const std::string& text);
  void clock_stepped(Time by) { admission_.clock_stepped(by); }

 private:
  AdmissionLimits limits() const;
  std::vector<AdmissionJob> waiting() const;
  void use_what_was_learned();
  void keep_group_limits(std::vector<AdmissionJob>& jobs) const;
  void show(const AdmittedJob& admitted, std::size_t shown, UnixTime daemon_started);

  const Settings& settings_;
  LiveSession& session_;
  JobBook& book_;
  const Boards& boards_;
  const AttemptTable& attempts_;
  HostShares& shares_;
  const JobGroups& groups_;
  Estimates& estimates_;
  Lifecycle& lifecycle_;
  Admission admission_;
  std::size_t active_users_ = 1;
};

}  // namespace smartmig
