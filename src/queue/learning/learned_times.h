// How the run times that users tell, or do not tell, turn out: a TimeEstimator over jobs of a queue, by everybody's,
// the user's, and the user's with that program. Times are those of the whole GPU.
//
// What is believed of a job in the end rests on more (History), on runs that both know, and on how sizes compare. So
// it is checked against what happens: by source (work.source), and by source and user, it is moved by a shift that
// follows the share of runs above it (half of them), and its spread multiplied by a width that follows the share of runs
// inside its interval (kHolds): larger after a run above, or outside, smaller after the others, by less the more runs
// the group has. So intervals hold as often as they should, whatever the shape of the errors; means and root mean
// squares would follow the few runs that are far off. Thread rule: the owner's.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "model/time_estimator.h"
#include "queue/belief/belief.h"

namespace smartmig {

class LearnedTimes {
 public:
  LearnedTimes() : times_(kBounds) {}
  static Result<LearnedTimes> parse(const std::string& name, std::string_view text);
  std::string to_json() const;

  // Of work.told, or of a job that nothing was told of (work.told 0), which is usually `usual`. What is told by another way
  // than by its owner's estimate (work.source), as a time limit does, has groups of its own.
  BelievedTime believed(const JobRecord& job, Time usual) const;
  void believe(JobRecord& job, Time usual) const;  // sets work.estimate and work.spread
  // What is claimed of a job, by what claims of its like turned out to be.
  BelievedTime checked(const JobRecord& job, BelievedTime claimed) const;
  // It ran for so long, to its end or (`cut`) to its time limit, and had work.estimate. REQUIRES: its row in the belief
  // has run; `load`: as Crowding::factor has it.
  void learn(const JobRecord& job, const Belief& belief, const Cluster& cluster, double ran_s, double load, bool cut);

 private:
  static constexpr TimeEstimator::Bounds kBounds{400, 10'000};
  static std::vector<std::string> groups_of(const JobRecord& job);

  struct Off {
    double runs = 0, shift = 0, log_width = 0;
  };
  void check(const JobRecord& job, double took);

  TimeEstimator times_;
  std::map<std::string, Off> off_;
};

std::string program_of_job(const JobRecord& job);  // command_key.h; without a command by its name

}  // namespace smartmig
