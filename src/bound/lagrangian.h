// The Lagrangian bound: prices per slice class and time window, raised from coarse windows to fine ones. For ANY prices
// >= 0 whose tail row lets no configuration earn anything,
//   value(prices) = idle cost
//                 + sum over windows of length * sum over models of GPUs * min over configurations (cost - prices)
//                 + sum over jobs of the least cost of the job alone at those prices
// is a lower bound for every schedule (docs/bounds.md). This file only finds good prices. Nothing that it computes is
// trusted: the printed figure comes from checker.h.
//
// Method: gradient ascent with per-coordinate steps (Adam, Kingma and Ba 2015) whose rate falls geometrically. The
// value is concave but has a kink exactly where the ascent starts (prices at which a GPU just earns nothing). So the
// GPUs' supply comes from a soft minimum over configurations whose temperature falls with the rate; the value itself is
// never smoothed. Work is counted in pieces of job subproblems, not in seconds, so equal input gives equal bytes.
#pragma once
#include <functional>

#include "bound/job_subproblem.h"
#include "bound/own_prices.h"

namespace smartmig {

struct Prices {
  Windows windows;
  std::vector<double> values;  // [window, tail last][class], cost per minute of a slice
  OwnPrices own;
  std::vector<EndPrice> ends;  // by job, each at most once
};

struct Supergradient {
  std::vector<double> demand, supply;          // [window][class], minutes
  std::vector<double> own_demand, own_supply;  // by entry of the own prices, minutes
  std::vector<double> ends;                    // by end price, minutes: the job's end less the least makespan
  std::uint64_t pieces = 0;                    // the work done
};
// Returns the value at the prices and, if asked for, demand and supply there. Temperature 0: the supply of one cheapest
// configuration.
double lagrangian_value(const BoundProblem& problem, const Prices& prices, Supergradient* gradient = nullptr,
                        double temperature = 0);

struct AscentOptions {
  int iterations = 100;
  bool per_type = true;                        // false: one price per slice-minute in each window
  double rate = 1;                             // first step, in units of the floor price
  double decay = 0.01;                         // last step / first step
  std::function<void(double value)> progress;  // called after every evaluation
};
// Raises the prices, except the tail's. Returns the best value found and keeps its prices.
double ascend(const BoundProblem& problem, Prices& prices, const AscentOptions& options);

struct SolveOptions {
  double effort = 1;  // work to spend: 1 takes about 15 s for a day of 4,000 jobs
  std::function<void(double share, double bound)> progress;
};
struct SolvedBound {
  Prices prices;
  double value = 0;  // the solver's, divided; not proven: see checker.h
  int evaluations = 0;
};
SolvedBound solve_lagrangian(const BoundProblem& problem, const SolveOptions& options);

}  // namespace smartmig
