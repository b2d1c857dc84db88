// A simulated world whose policy does not know how long jobs take (sim/two_worlds.h). The belief is a table that fills
// as jobs arrive:
//
//   a job arrives      its row gets the told time, or what the estimator makes of it (sim/estimates.h)
//   a job ends         at its true time; the estimator learns from it
#pragma once
#include <memory>
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
  void happened(const Event& event) override;
  void put(JobId job);
  std::vector<std::string> groups_of(const Job& job) const;
  std::optional<double> told(JobId job) const;

  EstimateRule rule_;
  std::vector<double> factors_;  // told time / true time; empty: nothing is told
  std::shared_ptr<JobTable> table_;
  TimeEstimator estimator_;
};

}  // namespace smartmig
