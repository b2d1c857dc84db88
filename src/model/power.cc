#include "model/power.h"

#include "base/csv.h"
#include "base/embedded.h"
#include "base/text.h"
#include "mig/catalog.h"

namespace smartmig {
namespace {

struct Row {
  std::string model, form, source;
  int compute_slices = 0;
  double idle = 0, base = 0, per_slice = 0, cap = 0;
  std::vector<double> table;
  std::vector<std::string> default_for;
};
struct KindRow {
  std::string model, kind, profile;
  double watts = 0;
};
struct Tables {
  std::vector<Row> rows;
  std::vector<KindRow> kinds;
};

Result<Tables> read_tables() {
  Tables tables;
  SMARTMIG_TRY(CsvReader csv, CsvReader::open(LineReader::over("power.csv", embedded_file("power.csv"))));
  SMARTMIG_TRY(const int model, csv.require("model"));
  SMARTMIG_TRY(const int form, csv.require("form"));
  SMARTMIG_TRY(const int slices, csv.require("compute_slices"));
  SMARTMIG_TRY(const int cap, csv.require("cap_w"));
  SMARTMIG_TRY(const int source, csv.require("source"));
  const int idle = csv.column("idle_w"), base = csv.column("base_w"), per_slice = csv.column("per_slice_w");
  const int table = csv.column("table_w"), default_for = csv.column("default_for");
  for (;;) {
    SMARTMIG_TRY(const bool more, csv.next());
    if (!more) break;
    Row row;
    row.model = std::string(csv.text(model));
    row.form = std::string(csv.text(form));
    row.source = std::string(csv.text(source));
    if (row.source.empty()) return csv.error(source, "every power model names its source");
    SMARTMIG_TRY(const std::int64_t count, csv.integer(slices));
    row.compute_slices = int(count);
    SMARTMIG_TRY(row.cap, csv.number(cap));
    if (row.form == "table") {
      for (std::string_view watts : split(csv.text(table), ';')) {
        const auto value = parse_double(watts);
        if (!value) return csv.error(table, fmt::format("'{}' is not a number of watts", watts));
        row.table.push_back(*value);
      }
      if (row.table.size() != std::size_t(count) + 1)
        return csv.error(table, fmt::format("{} values, {} are needed", row.table.size(), count + 1));
    } else {
      SMARTMIG_TRY(row.idle, csv.number(idle));
      SMARTMIG_TRY(row.base, csv.number(base));
      if (row.form == "additive") {
        SMARTMIG_TRY(row.per_slice, csv.number(per_slice));
      } else if (row.form != "measured") {
        return csv.error(form, fmt::format("'{}' should be table, additive or measured", row.form));
      }
    }
    for (std::string_view gpu : split(csv.text(default_for), ';'))
      if (!gpu.empty()) row.default_for.emplace_back(gpu);
    tables.rows.push_back(std::move(row));
  }
  SMARTMIG_TRY(CsvReader kinds, CsvReader::open(LineReader::over("power_kinds.csv", embedded_file("power_kinds.csv"))));
  SMARTMIG_TRY(const int of, kinds.require("model"));
  SMARTMIG_TRY(const int kind, kinds.require("kind"));
  SMARTMIG_TRY(const int profile, kinds.require("profile"));
  SMARTMIG_TRY(const int watts, kinds.require("watts"));
  for (;;) {
    SMARTMIG_TRY(const bool more, kinds.next());
    if (!more) return tables;
    SMARTMIG_TRY(const double value, kinds.number(watts));
    tables.kinds.push_back(
        {std::string(kinds.text(of)), std::string(kinds.text(kind)), std::string(kinds.text(profile)), value});
  }
}

const Tables& tables() {
  static const Tables read = [] {
    auto result = read_tables();
    SMARTMIG_CHECK(result, "{}", result.error().what);
    return std::move(*result);
  }();
  return read;
}

// Profiles are measured by size: compute slices, and whether the memory is doubled (more SMs on Hopper).
int size_key(int compute_slices, bool doubled) { return 2 * compute_slices + doubled; }

struct Linear {
  double idle, per_slice, cap;
};
Result<Linear> parse_linear(std::string_view name) {
  const auto parts = split(name, ':');
  std::vector<double> watts;
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (const auto value = parse_double(parts[i])) watts.push_back(*value);
  if (parts.size() != 4 || watts.size() != 3)
    return invalid("power model '{}': write linear:IDLE_W:W_PER_SLICE:CAP_W, for example linear:75:56:400", name);
  const Linear linear{watts[0], watts[1], watts[2]};
  if (linear.idle < 0 || linear.per_slice < 0 || linear.cap < linear.idle || linear.cap > 1e6)
    return invalid("power model '{}': watts must be at least 0 and the cap at least the idle watts", name);
  return linear;
}

}  // namespace

Result<PowerModel> PowerModel::named(std::string_view name, const GpuModel& gpu) {
  PowerModel power;
  if (name.starts_with("linear:")) {
    SMARTMIG_TRY(const Linear linear, parse_linear(name));
    power.name_ = std::string(name);
    power.source_ = "given on the command line";
    power.idle_ = power.base_ = linear.idle;
    power.per_slice_ = linear.per_slice;
    power.cap_ = linear.cap;
    return power;
  }
  std::vector<std::string> names;
  const Row* row = nullptr;
  for (const Row& candidate : tables().rows) {
    names.push_back(candidate.model);
    const auto& defaults = candidate.default_for;
    if (name == "auto" ? std::find(defaults.begin(), defaults.end(), gpu.name()) != defaults.end()
                       : candidate.model == name)
      row = &candidate;
  }
  if (!row && name == "auto")
    return not_found(
        "no power measurements are known for {}: give watts with --power linear:IDLE_W:W_PER_SLICE:CAP_W, or another "
        "board's model ({})",
        gpu.name(), fmt::join(names, ", "));
  if (!row)
    return not_found("no power model '{}': auto, {} or linear:IDLE_W:W_PER_SLICE:CAP_W", name, fmt::join(names, ", "));
  if (row->compute_slices != gpu.compute_slices())
    return invalid("power model {} is for GPUs of {} compute slices, {} has {}: use linear:IDLE_W:W_PER_SLICE:CAP_W",
                   row->model, row->compute_slices, gpu.name(), gpu.compute_slices());
  power.name_ = row->model;
  power.source_ = row->source;
  power.table_ = row->table;
  power.idle_ = row->idle;
  power.base_ = row->base;
  power.per_slice_ = row->per_slice;
  power.cap_ = row->cap;
  std::map<int, std::pair<double, int>> sums;  // over the measured kinds, by profile size
  for (const KindRow& kind : tables().kinds) {
    if (kind.model != row->model) continue;
    if (row->form == "additive") {
      power.utilisation_[kind.kind] = (kind.watts - row->idle) / (row->cap - row->idle);
      continue;
    }
    SMARTMIG_CHECK(!row->default_for.empty(), "power.csv: {} names no GPU model", row->model);
    const auto measured_on = Catalog::builtin().find(row->default_for.front());
    SMARTMIG_CHECK(measured_on, "power.csv: {}", measured_on.error().what);
    const int profile = (*measured_on)->find_profile(kind.profile);
    SMARTMIG_CHECK(profile >= 0, "power_kinds.csv: {} has no profile {}", (*measured_on)->name(), kind.profile);
    const Profile& p = (*measured_on)->profiles()[std::size_t(profile)];
    const int key = size_key(p.compute_slices, p.variant == Variant::kDoubleMemory);
    const double added = kind.watts - row->base;
    power.increments_[{kind.kind, key}] = added;
    sums[key].first += added;
    ++sums[key].second;
  }
  for (const auto& [key, sum] : sums) power.increments_[{"", key}] = sum.first / sum.second;
  for (const Profile& p : gpu.profiles())
    if (row->form == "measured" && sums.count(size_key(p.compute_slices, p.variant == Variant::kDoubleMemory)) == 0)
      return invalid("power model {} has no measurement for the size of {} on {}: use linear:IDLE_W:W_PER_SLICE:CAP_W",
                     row->model, p.name, gpu.name());
  return power;
}

double PowerModel::added(std::string_view kind, const Profile& profile) const {
  if (!table_.empty()) return 0;
  if (increments_.empty()) {
    const auto found = utilisation_.find(kind);
    return per_slice_ * profile.compute_slices * (found == utilisation_.end() ? 1 : found->second);
  }
  const int key = size_key(profile.compute_slices, profile.variant == Variant::kDoubleMemory);
  auto found = increments_.find({std::string(kind), key});
  if (found == increments_.end()) found = increments_.find({std::string(), key});
  SMARTMIG_CHECK(found != increments_.end(), "power model {} has no measurement for {}", name_, profile.name);
  return found->second;
}

}  // namespace smartmig
