// The rest of an unfinished job: a point where its time is known exactly (Job::spread 0), else values of equal weight
// (model/run_quantiles.h) that take account of how long it has run. Sizes are planned by the mean, deadlines by the
// mean over the values of how late each would be: late by much in one case of seven is late, though the mean finish is
// on time, and a job that looks hopeless at the mean is on time in some. Plans look at the upper tail, and that of run
// times is lighter than a lognormal's: they take kTails of the spread.
#pragma once
#include <array>

#include "model/cluster.h"
#include "model/run_quantiles.h"

namespace smartmig {

class JobRest {
 public:
  JobRest() = default;  // known
  JobRest(const Cluster& cluster, JobId job);
  bool known() const { return known_; }
  // On a slice of the type, restart cost apart: the mean; kCannotRun.
  Time on(const Cluster& cluster, JobId job, TypeId type) const;
  double usual() const { return left_.of_mean[kRunQuantiles / 2]; }  // in means, of the seven values
  double longest() const { return left_.of_mean.back(); }            // in means, of the seven values
  double longest_of_median() const { return left_.mean * left_.of_mean.back(); }
  // How long it may be, as shares of the mean, with their probabilities: one case if it is known, else short, usual, long.
  struct Case {
    double share = 0, of_mean = 1;
  };
  std::array<Case, 3> cases() const;  // a share of 0: no case
  // Minutes after `due` in the mean, of a run of `run` whose mean end is `finish`.
  double minutes_late(Time due, Time finish, Time run) const;

 private:
  bool known_ = true;
  RunQuantiles left_;
};

// Of what has run, in times of the whole job on its slice: above 1 where it runs longer than was believed. 0: it never
// ran.
double share_done(const Cluster& cluster, JobId job);

// The mean end of a running job, and an end that it keeps in most cases.
Time expected_finish(const Cluster& cluster, JobId job);
Time late_finish(const Cluster& cluster, JobId job);

}  // namespace smartmig
