// Of slices of one size on one GPU model that differ in memory (half, plain, double) a job is put on those of the least
// memory that it can run on: more would be taken from others.
#pragma once
#include "model/cluster.h"

namespace smartmig {

bool tightest_memory(const Cluster& cluster, JobId job, TypeId type);

}  // namespace smartmig
