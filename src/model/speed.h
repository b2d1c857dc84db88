// Measured speeds: throughput of a job kind on a (GPU model, profile), with the memory it needs. From data/speeds.csv
// (embedded), each row with its source, and from a site's own files (SMARTMIG_SPEEDS=FILE[:FILE], site_tables.h). Kinds
// are written model-phase-batch, for example "bert-train-8". A job takes launch + work / throughput; the column
// launch_s is optional.
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
    double launch_s = 0;  // until its work begins; the same on every size of a GPU model
    std::string source;
    std::int64_t line = 0;  // of its file
  };
  static Result<SpeedTable> parse(LineReader lines);
  // The embedded table and what a site has measured, read at the first use. What SMARTMIG_SPEEDS names is checked by
  // check_site_tables() when the program starts; a library's user who names an unreadable file is stopped here.
  static const SpeedTable& builtin();
  // The embedded table with these files over it, in their order. The error names file and line.
  static Result<SpeedTable> with_files(const std::vector<std::string>& files);

  // All rows of a kind on a GPU go when `later` has any: throughputs compare only where they were measured together.
  void replace_by(const SpeedTable& later);

  std::optional<double> throughput(std::string_view kind, std::string_view gpu, std::string_view profile) const;
  std::optional<int> mem_mib(std::string_view kind) const;
  double launch_s(std::string_view kind, std::string_view gpu) const;  // the longest of its rows; 0 where none says
  bool has(std::string_view kind) const { return kinds_.count(std::string(kind)) > 0; }
  // Kinds in table order whose source starts with this text ("MISO", "ParvaGPU", "paper"); all for an empty text.
  std::vector<std::string> kinds(std::string_view source_prefix = {}) const;
  const std::vector<Row>& rows() const { return rows_; }

 private:
  std::vector<Row> rows_;
  std::map<std::string, std::vector<std::size_t>> kinds_;  // rows by kind
};

}  // namespace smartmig
