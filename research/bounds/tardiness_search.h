// A good preemptive schedule on given machines: how much of what tardiness_mip.h leaves open is real. Jobs have an order; at
// every release and end the first of those that are there take the machines that are fastest for them. Orders are searched by
// annealing, from the earliest deadline, the least work and the least slack. Pure: the same seed and steps, the same schedule.
//
// What it finds is a schedule of the linearised (or true) jobs, so its tardiness is no less than their optimum, and that is no
// less than what the program proves. Units: minutes.
#pragma once
#include "research/bounds/late_jobs.h"

namespace smartmig {

// The sum over jobs of how late they are against `deadline` in one schedule by priority: `order[0]` comes first. REQUIRES: every
// job has a speed above 0 on some machine.
double tardiness_of_order(const std::vector<LateJob>& jobs, const std::vector<Machines>& machines,
                          const std::vector<std::size_t>& order);
// When each job ends in it.
std::vector<double> ends_of_order(const std::vector<LateJob>& jobs, const std::vector<Machines>& machines,
                                  const std::vector<std::size_t>& order);
// The best of about `steps` orders, and what it costs.
std::vector<std::size_t> search_order(const std::vector<LateJob>& jobs, const std::vector<Machines>& machines,
                                      int steps);
double search_tardiness(const std::vector<LateJob>& jobs, const std::vector<Machines>& machines, int steps);

}  // namespace smartmig
