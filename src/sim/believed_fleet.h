// A simulated world whose policy does not know how long jobs take (sim/two_worlds.h). The belief is a table that fills
// as jobs arrive:
//
//   a job arrives      its row gets the told time, or what the estimator makes of it (sim/estimates.h); jobs that run
//                      are evidence
//   a job ends         at its true time; the estimator learns from it, and of the first kWaiting jobs that wait those of
//                      which it now believes clearly else are withdrawn from the belief and arrive there anew
#pragma once
#include <memory>
#include <set>
#include <vector>

#include "model/time_estimator.h"
#include "sim/estimates.h"
#include "sim/two_worlds.h"

namespace smartmig {

class BelievedFleet : public TwoWorlds {
 public:
  // `truth`: the true cluster at the start.
  BelievedFleet(const EstimateRule& rule, Cluster truth, Journal* journal);
  // The cluster that the session starts with.
  Cluster belief(std::shared_ptr<const Platform> platform) const;

 private:
  static constexpr std::size_t kWaiting = 64;
  void happened(const Event& event) override;
  bool rebelieved(const Cluster& cluster, Event& event) override;
  BelievedTime believed_of(JobId job) const;
  void put(JobId job);
  void look_again();
  std::vector<std::string> groups_of(const Job& job) const;
  std::optional<double> told(JobId job) const;

  EstimateRule rule_;
  std::vector<double> factors_;  // told time / true time; empty: nothing is told
  std::shared_ptr<JobTable> table_;
  TimeEstimator estimator_;
  std::set<JobId> running_;
  std::vector<BelievedTime> beliefs_;  // by job: as its row has it
  std::vector<JobId> anew_;            // waiting jobs whose rows are to be made anew
  bool back_ = false;                  // the last of them is withdrawn
};

}  // namespace smartmig
