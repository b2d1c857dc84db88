// The SMART-MIG paper's values for static partitions against ours, one section per table (smart_mig_printed.h).
#pragma once
#include "base/result.h"
#include "research/papers/paper_report.h"

namespace smartmig {

struct StaticTablesOptions {
  std::string table;       // only this one: "20x"
  std::int64_t days = 30;  // report seeds
  int threads = 1;
};
// kInvalid: no such table.
Result<Ok> check_options(const StaticTablesOptions& options);
Result<PaperReport> static_tables_report(const StaticTablesOptions& options, const PaperProgress& progress);

}  // namespace smartmig
