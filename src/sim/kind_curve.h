// The curve of a job kind on its reference GPU: relative speed by slice size, memory, restart cost. From the speed
// table and data/restart.csv (both embedded, each row with its source).
#pragma once
#include <array>
#include <string>
#include <string_view>

#include "model/job.h"
#include "model/speed.h"

namespace smartmig {

struct KindName {  // the parts of "bert-train-8"
  std::string model, phase,
      batch;  // phase: "train" or "infer" ("decode" counts as infer); empty if the name has none
};
KindName split_kind(std::string_view kind);

struct KindCurve {
  std::string kind;
  std::array<double, kMaxComputeSlices> throughput{};  // by compute slices - 1; 0: the kind does not run there
  int largest = 0;                                     // compute slices of the largest size that it runs on
  int mem_mib = -1;
  double launch_s = 0;  // of every run, before the work begins
  Time restart{-1};

  // Sets the times of a job that takes `s` seconds on a slice of `size` compute slices. REQUIRES: the kind runs on that
  // size.
  void set_work(Job& job, int size, double s) const;
};

// A size with several profiles (1g.18gb, 1g.35gb) uses the table's first, the plain one.
// REQUIRES: the table has the kind on that GPU.
KindCurve curve_of(const std::string& kind, std::string_view gpu, const SpeedTable& table = SpeedTable::builtin());

Time restart_of(std::string_view kind);  // negative: no figure is known, so never preempted

// The time on the largest size that the job runs on. REQUIRES: it runs somewhere.
Time whole_gpu_work(const Job& job);

}  // namespace smartmig
