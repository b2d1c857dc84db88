// Which queued jobs the policy sees, in which order, and with which deadline: fairness between users in front of any
// policy. A policy minimises lateness, so a user who declares tight deadlines would get everything; here a deadline is
// presented no earlier than the user's fair share could serve it.
//
// A job is never later for having a deadline: without one it comes after those that have one where one user's jobs wait
// alone, and where they do not, the fair share says for both when a job must be served.
//
//   active users   n: those with a queued job that is not held, or with running slices
//   fair share     F / n, F the compute slices of the fleet
//   virtual finish of a user's k-th job, in the user's own order (priority, deadline if any, submit, id):
//                  V_k = max(submitted_k, V_{k-1}) + estimate_k * slices of a GPU * n / F
//                  V_0 is the user's account: what was started before, charged in the same way by charge()
//                  An estimate counts as kLeastCharge at least: shares are of starts as well as of time.
//   soon           submitted + slack * estimate
//   presented      where one user's jobs of one priority wait: the declared deadline; without one soon, marked as made up,
//                  which policies put behind all that were declared
//                  else: max(V_k, the earlier of declared and soon), declared or not; of a patient job the declared
//   priority       root-set, higher first: where jobs of two priorities are shown, the higher one's deadline is
//                  presented no later than any lower one's. Lower ones are hidden while the higher ones could fill the fleet.
//   window         at most `window` jobs are shown; users take turns, so each has its most urgent ones among them.
//                  With several users no more than would fill the fleet twice: a policy that saves energy has no
//                  preference among jobs that can wait, and takes them in the order of arrival.
//                  Order: priority, presented deadline, turn, submit, id.
//   caps           a user whose running jobs asked for the cap is shown nothing, else jobs up to the cap. Counted is what
//                  they asked for: what a policy gives on top is no reason to let others of that user wait.
//
// An account runs ahead of the clock while a user takes more than the share; that debt is forgiven beyond `debt`, so
// that using idle GPUs is never held against anyone for long. O(n log n). Not thread-safe; one owner. Times are of the
// queue's clock, in microseconds.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/moved.h"
#include "base/units.h"
#include "queue/config/settings.h"

namespace smartmig {

// What a start is charged at least, of a whole GPU: making a slice and starting a program take time on it, and a user
// with many tiny jobs would else have all the starts.
inline constexpr Time kLeastCharge{30'000'000};

struct AdmissionLimits {
  int user_slices = 0;       // running compute slices of one user; 0: no cap
  std::size_t window = 512;  // visible jobs
  double slack = 2;          // of a job without a deadline
  Time debt = std::chrono::hours(1);
};

struct AdmissionJob {
  std::uint64_t id = 0;
  std::uint32_t uid = 0;
  int priority = 0;
  std::optional<UnixTime> deadline;
  UnixTime submitted{};
  Time estimate{};       // on the whole GPU
  int slices = 1;        // that it asks for, at least
  bool held = false;     // by a dependency, its array's limit, its user's wish
  bool patient = false;  // its owner leaves it time until its deadline
  bool operator==(const AdmissionJob&) const = default;
};

struct UserLoad {
  std::uint32_t uid = 0;
  int running_slices = 0;
};

struct AdmittedJob {
  std::uint64_t id = 0;
  UnixTime deadline{};   // presented
  bool made_up = false;  // no deadline was declared, and none is needed between users and priorities
  bool operator==(const AdmittedJob&) const = default;
};

struct AdmissionAnswer {
  std::vector<AdmittedJob> visible;      // in order
  std::vector<std::uint64_t> user_full;  // waiting only for their user's running slices
  std::size_t active_users = 0;
};

AdmissionLimits admission_limits(const Settings& settings);
// A deadline that moved by less stays as it was presented.
bool moved_much(UnixTime had, UnixTime wanted, UnixTime now);

// When a job without a deadline is wanted.
UnixTime soon(UnixTime submitted, Time estimate, double slack);

class Admission {
 public:
  // `fleet_slices`: compute slices of the GPUs that take work; `gpu_slices`: of one GPU.
  AdmissionAnswer admit(std::span<const AdmissionJob> jobs, std::span<const UserLoad> users,
                        const AdmissionLimits& limits, int fleet_slices, int gpu_slices, UnixTime now);

  // A job has started: its user's account moves on.
  void charge(const AdmissionJob& job, std::size_t active_users, int fleet_slices, int gpu_slices);
  UnixTime account(std::uint32_t uid) const;
  void set_account(std::uint32_t uid, UnixTime value) { accounts_[uid] = value; }  // after a restart
  void clock_stepped(Time by) {
    for (auto& [uid, account] : accounts_) account = moved(account, by);
  }
  const std::unordered_map<std::uint32_t, UnixTime>& accounts() const { return accounts_; }

 private:
  std::unordered_map<std::uint32_t, UnixTime> accounts_;
};

}  // namespace smartmig
