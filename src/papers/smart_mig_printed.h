// What the SMART-MIG paper (arXiv 2606.29775) prints for static partitions. Energy in million watt-minutes or in per
// cent above the paper's energy bound, mean tardiness in minutes. An empty value: the paper does not print it.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace smartmig {

struct PaperRow {
  std::string policy;  // a contender
  std::optional<double> energy, tardiness;
};

struct PaperTable {
  std::string name;  // "20x"
  std::string title;
  std::string workload;  // generator without its seed
  std::string note;
  bool energy_above_bound = false;  // rows' energy is per cent above the bound
  std::vector<PaperRow> rows;
};

const std::vector<PaperTable>& paper_static_tables();

}  // namespace smartmig
