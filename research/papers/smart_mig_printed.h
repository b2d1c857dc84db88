// What the SMART-MIG paper (arXiv 2606.29775) prints for static partitions at each load; its figures are in
// smart_mig_placers.h. Energy in million watt-minutes, mean tardiness in minutes. An empty value: the paper does not print it.
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
  std::vector<PaperRow> rows;
};

const std::vector<PaperTable>& paper_static_tables();

}  // namespace smartmig
