#include "model/reconfig.h"

#include <map>
#include <string>

#include "base/csv.h"
#include "base/embedded.h"

namespace smartmig {
namespace {

struct ReconfigTables {
  std::map<std::string, std::map<int, ReconfigTime>, std::less<>> families;  // by compute slices
  std::map<std::string, std::string, std::less<>> family_of;                 // GPU model -> family; "*": any other
};

Result<ReconfigTables> read_reconfig_tables() {
  ReconfigTables tables;
  SMARTMIG_TRY(CsvReader csv, CsvReader::open(LineReader::over("reconfig.csv", embedded_file("reconfig.csv"))));
  SMARTMIG_TRY(const int family, csv.require("family"));
  SMARTMIG_TRY(const int slices, csv.require("compute_slices"));
  SMARTMIG_TRY(const int create, csv.require("create_s"));
  SMARTMIG_TRY(const int destroy, csv.require("destroy_s"));
  SMARTMIG_TRY(const int model, csv.require("model"));
  for (;;) {
    SMARTMIG_TRY(const bool more, csv.next());
    if (!more) break;
    const std::string name(csv.text(family));
    if (!csv.empty(model)) {
      if (tables.families.count(name) == 0)
        return csv.error(family, fmt::format("'{}' has no times above this line", name));
      tables.family_of[std::string(csv.text(model))] = name;
      continue;
    }
    SMARTMIG_TRY(const std::int64_t size, csv.integer(slices));
    SMARTMIG_TRY(const double create_s, csv.number(create));
    SMARTMIG_TRY(const double destroy_s, csv.number(destroy));
    tables.families[name][int(size)] = {from_seconds(create_s), from_seconds(destroy_s)};
  }
  if (tables.family_of.count("*") == 0) return invalid("{} has no row for other models (*)", csv.name());
  return tables;
}

const ReconfigTables& reconfig_tables() {
  static const ReconfigTables read = [] {
    auto result = read_reconfig_tables();
    SMARTMIG_CHECK(result, "{}", result.error().what);
    return std::move(*result);
  }();
  return read;
}

}  // namespace

// One decision about a large fleet of few models calls this millions of times, so the last model's times are cached.
ReconfigTime reconfig_time(const GpuModel& model, int profile) {
  thread_local const std::map<int, ReconfigTime>* sizes = nullptr;
  thread_local std::string of;
  if (!sizes || of != model.tables()) {
    const auto named = reconfig_tables().family_of.find(model.tables());
    sizes = &reconfig_tables().families.at(
        named != reconfig_tables().family_of.end() ? named->second : reconfig_tables().family_of.at("*"));
    of = model.tables();
  }
  const auto size = sizes->lower_bound(model.profiles()[std::size_t(profile)].compute_slices);
  return size == sizes->end() ? sizes->rbegin()->second : size->second;
}

Time reshape_time(const CostModel& cost, const GpuModel& model, Layout from, Layout to) {
  if (from == to) return Time{0};
  if (cost.reshape) return *cost.reshape;
  Time total{};
  for (const PlacementId p : from - to) total += reconfig_time(model, model.placement(p).profile).destroy;
  for (const PlacementId p : to - from) total += reconfig_time(model, model.placement(p).profile).create;
  return total;
}

}  // namespace smartmig
