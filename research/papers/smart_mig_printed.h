// The values that the SMART-MIG paper (arXiv 2606.29775) prints for static partitions at each load; smart_mig_placers.h
// has its figures. Energy in million watt-minutes, mean tardiness in minutes. Empty: the paper does not print the
// value.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace smartmig {

struct PaperRow {
  std::string policy;  // a contender's
  std::optional<double> energy, tardiness;
};

struct PaperTable {
  std::string name;  // "20x"
  std::string title;
  std::string workload;  // a generator without its seed
  std::vector<PaperRow> rows;
};

const std::vector<PaperTable>& paper_static_tables();

}  // namespace smartmig
