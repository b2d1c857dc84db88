// Measured speeds: throughput of a job kind on a (GPU model, profile), with the memory it needs. From data/speeds.csv
// (embedded), each row with its source. Kinds are written model-phase-batch, for example "bert-train-8".
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace smartmig {

class SpeedTable {
 public:
  struct Row {
    std::string kind, gpu, profile;
    double throughput = 0;  // unit differs by kind; only ratios within a kind are used
    std::string unit;
    int mem_mib = -1;
    std::string source;
  };
  static Result<SpeedTable> parse(LineReader lines);
  static const SpeedTable& builtin();

  std::optional<double> throughput(std::string_view kind, std::string_view gpu, std::string_view profile) const;
  std::optional<int> mem_mib(std::string_view kind) const;
  bool has(std::string_view kind) const { return kinds_.count(std::string(kind)) > 0; }
  // Kinds in table order whose source starts with this text ("MISO", "ParvaGPU", "paper"); all for an empty text.
  std::vector<std::string> kinds(std::string_view source_prefix = {}) const;
  const std::vector<Row>& rows() const { return rows_; }

 private:
  std::vector<Row> rows_;
  std::map<std::string, std::vector<std::size_t>> kinds_;  // rows by kind
};

}  // namespace smartmig
