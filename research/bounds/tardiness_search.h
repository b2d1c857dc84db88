// Finds a good preemptive schedule on given machines; it shows how much of the gap left by tardiness_mip.h is real.
// Jobs have an order. At every release and end, the first of the present jobs take the machines that are fastest for
// them. Annealing searches the orders, starting from the earliest deadline, the least work and the least slack. Pure:
// the same seed and steps give the same schedule.
//
// The result is a schedule of the linearised (or true) jobs. So its tardiness is at least their optimum, which is at
// least what the program proves. Units: minutes.
#pragma once
#include "research/bounds/late_jobs.h"

namespace smartmig {

// The sum over jobs of their lateness against `deadline` in one schedule by priority: `order[0]` comes first. REQUIRES:
// every job has a speed above 0 on some machine.
double tardiness_of_order(const std::vector<LateJob>& jobs, const std::vector<Machines>& machines,
                          const std::vector<std::size_t>& order);
// When each job ends in that schedule.
std::vector<double> ends_of_order(const std::vector<LateJob>& jobs, const std::vector<Machines>& machines,
                                  const std::vector<std::size_t>& order);
// The best of about `steps` orders, and its cost.
std::vector<std::size_t> search_order(const std::vector<LateJob>& jobs, const std::vector<Machines>& machines,
                                      int steps);
double search_tardiness(const std::vector<LateJob>& jobs, const std::vector<Machines>& machines, int steps);

}  // namespace smartmig
