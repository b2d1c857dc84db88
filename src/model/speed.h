// Measured speeds: the throughput of a job kind on a (GPU model, profile), and the memory it needs. They come from
// data/speeds.csv (embedded), where each row has its source, and from a site's own files (SMARTMIG_SPEEDS=FILE[:FILE],
// site_tables.h). Kinds are written model-phase-batch, for example "bert-train-8". A job takes launch + work /
// throughput; the column launch_s is optional.
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
    double throughput = 0;  // the unit depends on the kind; only ratios within a kind are used
    std::string unit;
    int mem_mib = -1;
    double launch_s = 0;  // until its work begins; equal for all sizes of a GPU model
    std::string source;
    std::int64_t line = 0;  // in its file
  };
  static Result<SpeedTable> parse(LineReader lines);
  // The embedded table with a site's measurements, read at the first use. check_site_tables() checks the files of
  // SMARTMIG_SPEEDS when the program starts; a user of the library who names an unreadable file is stopped here.
  static const SpeedTable& builtin();
  // The embedded table, overridden by these files in their order. The error names file and line.
  static Result<SpeedTable> with_files(const std::vector<std::string>& files);

  // Drops all rows of a (kind, GPU) that `later` has: throughputs are comparable only if they were measured together.
  void replace_by(const SpeedTable& later);

  std::optional<double> throughput(std::string_view kind, std::string_view gpu, std::string_view profile) const;
  std::optional<int> mem_mib(std::string_view kind) const;
  double launch_s(std::string_view kind, std::string_view gpu) const;  // the longest of its rows; 0 if none has one
  bool has(std::string_view kind) const { return kinds_.count(std::string(kind)) > 0; }
  // Kinds in table order whose source starts with this text ("MISO", "ParvaGPU", "paper"); an empty text selects all.
  std::vector<std::string> kinds(std::string_view source_prefix = {}) const;
  const std::vector<Row>& rows() const { return rows_; }

 private:
  std::vector<Row> rows_;
  std::map<std::string, std::vector<std::size_t>> kinds_;  // rows by kind
};

}  // namespace smartmig
