#include "model/speed.h"

#include <algorithm>

#include "base/csv.h"
#include "base/embedded.h"
#include "mig/catalog.h"
#include "model/site_tables.h"

namespace smartmig {

Result<SpeedTable> SpeedTable::parse(LineReader lines) {
  SMARTMIG_TRY(CsvReader csv, CsvReader::open(std::move(lines)));
  SMARTMIG_TRY(const int kind, csv.require("kind"));
  SMARTMIG_TRY(const int gpu, csv.require("gpu"));
  SMARTMIG_TRY(const int profile, csv.require("profile"));
  SMARTMIG_TRY(const int throughput, csv.require("throughput"));
  SMARTMIG_TRY(const int unit, csv.require("unit"));
  SMARTMIG_TRY(const int memory, csv.require("mem_mib"));
  SMARTMIG_TRY(const int source, csv.require("source"));
  const int launch = csv.column("launch_s");
  SpeedTable table;
  for (;;) {
    SMARTMIG_TRY(const bool more, csv.next());
    if (!more) return table;
    for (const int column : {kind, gpu, profile, source})
      if (csv.empty(column)) return csv.error(column, "must not be empty");
    Row row;
    row.kind = csv.text(kind);
    row.gpu = csv.text(gpu);
    row.profile = csv.text(profile);
    SMARTMIG_TRY(row.throughput, csv.number(throughput));
    if (row.throughput <= 0)
      return csv.error(throughput, "must be above 0; leave out rows for sizes on which the kind does not run");
    row.unit = csv.text(unit);
    if (!csv.empty(memory)) {
      SMARTMIG_TRY(const std::int64_t mib, csv.integer(memory));
      if (mib < 0 || mib > 1 << 30) return csv.error(memory, "must be between 0 and 2^30 MiB");
      row.mem_mib = int(mib);
    }
    SMARTMIG_TRY(const auto before, csv.optional_number(launch));
    if (before && !(*before >= 0 && *before <= 1e6)) return csv.error(launch, "must be between 0 and 1e6 s");
    row.launch_s = before.value_or(0);
    row.source = csv.text(source);
    row.line = csv.line();
    if (table.throughput(row.kind, row.gpu, row.profile))
      return csv.error(profile, fmt::format("{} on {} {} is given twice", row.kind, row.gpu, row.profile));
    table.kinds_[row.kind].push_back(table.rows_.size());
    table.rows_.push_back(std::move(row));
  }
}

Result<SpeedTable> SpeedTable::with_files(const std::vector<std::string>& files) {
  SMARTMIG_TRY(SpeedTable table, parse(LineReader::over("data/speeds.csv", embedded_file("speeds.csv"))));
  for (const std::string& file : files) {
    SMARTMIG_TRY(LineReader lines, LineReader::open(file));
    SMARTMIG_TRY(const SpeedTable site, parse(std::move(lines)));
    for (const Row& row : site.rows_) {
      const auto gpu = Catalog::builtin().find(row.gpu);
      if (!gpu) return invalid("{} line {}: {}", file, row.line, gpu.error().what);
      const int profile = (*gpu)->find_profile(row.profile);
      if (profile < 0 || (*gpu)->profiles()[std::size_t(profile)].name != row.profile)
        return invalid("{} line {}: {} has no profile '{}'; smartmig geometry {} lists them", file, row.line, row.gpu,
                       row.profile, row.gpu);
    }
    table.replace_by(site);
  }
  return table;
}

void SpeedTable::replace_by(const SpeedTable& later) {
  std::erase_if(rows_, [&](const Row& row) {
    const auto kind = later.kinds_.find(row.kind);
    return kind != later.kinds_.end() && std::any_of(kind->second.begin(), kind->second.end(),
                                                     [&](std::size_t i) { return later.rows_[i].gpu == row.gpu; });
  });
  rows_.insert(rows_.end(), later.rows_.begin(), later.rows_.end());
  kinds_.clear();
  for (std::size_t i = 0; i < rows_.size(); ++i) kinds_[rows_[i].kind].push_back(i);
}

const SpeedTable& SpeedTable::builtin() {
  static const SpeedTable table = [] {
    auto read = with_files(site_files(kSpeedsVariable));
    SMARTMIG_CHECK(read, "{}", read.error().what);
    return std::move(read.value());
  }();
  return table;
}

std::optional<double> SpeedTable::throughput(std::string_view kind, std::string_view gpu,
                                             std::string_view profile) const {
  const auto found = kinds_.find(std::string(kind));
  if (found == kinds_.end()) return std::nullopt;
  for (const std::size_t i : found->second)
    if (rows_[i].gpu == gpu && rows_[i].profile == profile) return rows_[i].throughput;
  return std::nullopt;
}

// A kind measured on several GPUs has several figures. The largest is the safe one.
std::optional<int> SpeedTable::mem_mib(std::string_view kind) const {
  const auto found = kinds_.find(std::string(kind));
  if (found == kinds_.end()) return std::nullopt;
  int most = -1;
  for (const std::size_t i : found->second) most = std::max(most, rows_[i].mem_mib);
  return most < 0 ? std::nullopt : std::optional<int>(most);
}

double SpeedTable::launch_s(std::string_view kind, std::string_view gpu) const {
  double longest = 0;
  if (const auto found = kinds_.find(std::string(kind)); found != kinds_.end())
    for (const std::size_t i : found->second)
      if (rows_[i].gpu == gpu) longest = std::max(longest, rows_[i].launch_s);
  return longest;
}

std::vector<std::string> SpeedTable::kinds(std::string_view source_prefix) const {
  std::vector<std::string> out;
  for (const Row& row : rows_)
    if (std::string_view(row.source).starts_with(source_prefix) &&
        std::find(out.begin(), out.end(), row.kind) == out.end())
      out.push_back(row.kind);
  return out;
}

}  // namespace smartmig
